#pragma once

#include <cstddef>
#include <cstdint>

#include "blowfish/index/index_layers.h"

namespace stout::blowfish {

/// The order in which an index gets its layers, one step up being one layer more, of `records` (for
/// searches) or of `places` (for single attributes):
///
///     records, records, places, records, places, records, ..., places, places
///
/// Searches come first: a hit costs a walk, and without a layer that is half a record long; each
/// layer of records halves it. Places begin to tell when a record is cut in two or more, and from
/// there on each kind halves what its walks have left. A ladder ends when both have every
/// attribute. A text index has `positions` for `records`, `rows` for `places`, and bytes for
/// attributes.
///
/// The steps that an index stands on are in its arrays: a ladder has no state of its own. That of a
/// Next() goes on where the layers of the index end.
///
/// Space: a step takes as much as all before it of its kind together.
/// Cost: some arithmetic a column; climbing as LayeredSampledArray's Add() and Remove().
/// Owner: the layers outlive it.   Threads: those of the layers.
/// Errors: as LayeredSampledArray's.
class LayerLadder {
 public:
  explicit LayerLadder(IndexLayers& layers) : searches_(layers.searches), reads_(layers.reads) {}

  /// Layers that the index has, those it always has not counted.
  [[nodiscard]] std::size_t layers() const;
  /// Bytes of all layers, those being filled included.
  [[nodiscard]] std::uint64_t bytes() const;
  /// Maximum bytes of the next layers, as long as they are being filled. If there are fewer, those
  /// count.
  [[nodiscard]] std::uint64_t next_bytes(std::size_t count = 1) const;
  /// Minimum bytes that removing the finest layer frees; 0: there is none.
  [[nodiscard]] std::uint64_t finest_bytes() const;

  /// Layers lack entries.
  [[nodiscard]] bool filling() const { return searches_.filling() || reads_.filling(); }

  /// A layer more, empty: reads fill it, and FillLayers() at once. False: there is none.
  bool Add();
  /// False: there is no layer.
  bool Remove();

 private:
  [[nodiscard]] std::size_t Steps() const;
  // Returns true if the step adds to `searches_`; step < Steps().
  [[nodiscard]] bool IsForSearches(std::size_t step) const;
  // The array that a step adds to; step < Steps().
  [[nodiscard]] LayeredSampledArray& ArrayOf(std::size_t step) const {
    return IsForSearches(step) ? searches_ : reads_;
  }

  LayeredSampledArray& searches_;
  LayeredSampledArray& reads_;
};

}  // namespace stout::blowfish
