#pragma once

#include <cstddef>
#include <cstdint>

#include "blowfish/index/record_index.h"
#include "blowfish/index/text_index.h"

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
/// The steps that an index stands on are in its arrays: a ladder has no state of its own.
///
/// Space: a step takes as much as all before it of its kind together.
/// Cost: some arithmetic a column; climbing as LayeredSampledArray's Add() and Remove().
/// Owner: the index outlives it.   Threads: those of the index.
/// Errors: as LayeredSampledArray's.
class LayerLadder {
 public:
  explicit LayerLadder(RecordIndex& index)
      : searches_(index.records_at()), reads_(index.places_of()) {}
  explicit LayerLadder(TextIndex& index)
      : searches_(index.positions_at()), reads_(index.rows_of()) {}

  /// Layers that the index has, those it always has not counted.
  [[nodiscard]] std::size_t layers() const;
  /// Bytes of all layers, those being filled included.
  [[nodiscard]] std::uint64_t bytes() const;
  /// Maximum bytes of one more layer, as long as it is being filled; 0: there is none.
  [[nodiscard]] std::uint64_t next_bytes() const;
  /// Minimum bytes that removing the finest layer frees; 0: there is none.
  [[nodiscard]] std::uint64_t finest_bytes() const;

  /// Layers lack entries.
  [[nodiscard]] bool filling() const { return searches_.filling() || reads_.filling(); }

  /// A layer more, empty: whoever reads fills it, and FillLayers() at once. False: there is none.
  bool Add();
  /// False: there is no layer.
  bool Remove();

 private:
  [[nodiscard]] std::size_t Steps() const;
  // The array that a step adds to; step < Steps().
  [[nodiscard]] LayeredSampledArray& ArrayOf(std::size_t step) const;

  LayeredSampledArray& searches_;
  LayeredSampledArray& reads_;
};

}  // namespace stout::blowfish
