#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "blowfish/index/record_index.h"
#include "shard/oracle.h"

namespace stout::bench::shard {

/// The cost of layers while they come and go: processor time of one thread, which does everything,
/// as a shard's worker does.
struct LayerCosts {
  std::uint64_t bytes = 0;  ///< of all layers of both arrays

  /// All layers of both arrays, added at once and then filled.
  struct Filling {
    std::string by;  ///< "sweep" reads each record once, "gets" reads as many at random.
    std::uint64_t reads = 0;
    double seconds = 0;
    double filled = 0;  ///< share of the entries that are there afterwards
  };
  std::vector<Filling> filling;

  /// Removing a layer between queries, until its memory is returned.
  struct Removal {
    std::size_t layers = 0;  ///< Removed, the finest first.
    double mean_ms = 0;
    double most_ms = 0;
    std::uint64_t reads = 0;  ///< between the removals
    std::uint64_t wrong = 0;  ///< of these, with a value other than what was put in
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
  std::size_t rounds = 20;           ///< times that all layers are removed
  std::size_t reads = 4096;          ///< gets between two removals
  std::size_t operations = 100'000;  ///< gets in a batch; searches are a tenth of it
  std::size_t repeats = 5;           ///< runs of a batch
  std::uint64_t seed = 1;
};

/// Measures an index of the oracle's records, which has no layers and has none again.
[[nodiscard]] LayerCosts MeasureLayers(blowfish::RecordIndex& index, const Oracle& oracle,
                                       const LayerCostOptions& options);

}  // namespace stout::bench::shard
