#pragma once

#include <cstddef>
#include <utility>

#include "blowfish/index/layered_sampled_array.h"

namespace stout::blowfish {

/// The two layered sampled arrays of an index, which have the same shape.
///
/// Threads: one at a time.
struct IndexLayers {
  LayeredSampledArray searches;  ///< Shortens the walks of searches.
  LayeredSampledArray reads;     ///< Shortens the walks of reads.

  explicit IndexLayers(const SampleShape& shape) : searches(shape), reads(shape) {}
  IndexLayers(LayeredSampledArray for_searches, LayeredSampledArray for_reads)
      : searches(std::move(for_searches)), reads(std::move(for_reads)) {}

  [[nodiscard]] bool filling() const { return searches.filling() || reads.filling(); }

  /// The same as in LayeredSampledArray.
  /// @{
  [[nodiscard]] std::size_t bytes() const { return searches.bytes() + reads.bytes(); }
  [[nodiscard]] IndexLayers Next() const { return {searches.Next(), reads.Next()}; }
  void Join(IndexLayers next) {
    searches.Join(std::move(next.searches));
    reads.Join(std::move(next.reads));
  }
  /// @}
};

}  // namespace stout::blowfish
