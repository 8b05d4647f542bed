#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reclaim.h"
#include "record_index.h"
#include "shard/oracle.h"

namespace stout::bench::shard {

/// The cost of layers while they come and go.
struct LayerCosts {
  /// All layers of both arrays, added at once and filled by threads that share the records.
  struct Filling {
    std::size_t threads = 0;
    double seconds = 0;
  };
  std::vector<Filling> filling;
  std::uint64_t bytes = 0;  ///< number of layers

  /// From before a layer is removed until its memory is returned, while others read without pause.
  struct Removal {
    std::size_t layers = 0;  ///< Removed, the finest first.
    double mean_ms = 0;
    double most_ms = 0;
    std::uint64_t reads = 0;  ///< Meanwhile;
    std::uint64_t wrong = 0;  ///< of these other than what was put in.
  };
  Removal removal;

  /// Extra time of a batch that fills the empty layers that it finds, over one without such layers.
  struct Opportunism {
    std::string name;       ///< "get", "get x16", "search mix8".
    std::string layer_of;   ///< "records", "places".
    double without_ns = 0;  ///< time of an operation: the median of the batches
    double filling_ns = 0;  ///< Likewise.
  };
  std::vector<Opportunism> opportunism;
};

struct LayerCostOptions {
  std::vector<std::size_t> threads = {1, 2};  ///< That fill.
  std::size_t readers = 2;                    ///< While layers are removed.
  std::size_t rounds = 20;                    ///< times that all layers are removed
  std::size_t operations = 100'000;           ///< gets in a batch; searches are a tenth of it
  std::size_t repeats = 5;                    ///< runs of a batch
  std::uint64_t seed = 1;
};

/// Measures an index of the oracle's records, which has no layers and has none again.
[[nodiscard]] LayerCosts MeasureLayers(blowfish::RecordIndex& index,
                                       blowfish::ReclaimDomain& domain, const Oracle& oracle,
                                       const LayerCostOptions& options);

}  // namespace stout::bench::shard
