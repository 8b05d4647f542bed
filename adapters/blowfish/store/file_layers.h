#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "blowfish/index/block_layers.h"
#include "blowfish/store/layer_ladder.h"
#include "blowfish/store/succinct_store.h"

namespace stout::blowfish {

/// Calls visit(layers) with the layers of a file: a BlockLayers if its values are in blocks,
/// otherwise the LayerLadder of its index or text index. Both have the same members.
///
/// Threads: the owner's of the store.
template <typename Visit>
decltype(auto) VisitLayers(SuccinctStore& store, Visit visit) {
  if (BlockLayers* const layers = store.block_layers()) return visit(*layers);
  LayerLadder ladder(store.index_layers());
  return visit(ladder);
}

[[nodiscard]] inline std::size_t LayersOf(SuccinctStore& store) {
  return VisitLayers(store, [](const auto& layers) { return layers.layers(); });
}

/// Adds layers, empty, or removes some, until the file has this number, or can have no more. Throws
/// std::bad_alloc; then the file has some of them.
inline void SetLayers(SuccinctStore& store, std::size_t wanted) {
  VisitLayers(store, [wanted](auto& layers) {
    while (layers.layers() > wanted && layers.Remove()) continue;
    while (layers.layers() < wanted && layers.Add()) continue;
  });
}

/// Bytes of one more layer than there are and are ordered, of two more, and so on. If there are
/// fewer, those count.
using NextLayerBytes = std::array<std::uint64_t, 4>;

/// How the values of a new layer come: the two constructions of the paper (3.1).
enum class LayerFilling : std::uint8_t {
  kDedicated,      ///< A thread fills it beside the shard's worker. It serves when it is full.
  kOpportunistic,  ///< It serves at once, and reads fill it with what they pass.
};

/// The numbers of layers of a shard's files. Files with blocks have a number of their own, because
/// their layers are larger by far: up to all values. One word, or clang calls libatomic for an
/// atomic one.
struct alignas(std::uint64_t) LayerNumbers {
  std::uint32_t of_indexes = 0;
  std::uint32_t of_blocks = 0;

  [[nodiscard]] std::uint32_t Of(const SuccinctStore& store) const {
    return store.blocks() != nullptr ? of_blocks : of_indexes;
  }
  [[nodiscard]] std::uint32_t most() const { return std::max(of_indexes, of_blocks); }
};
static_assert(std::atomic<LayerNumbers>::is_always_lock_free);

}  // namespace stout::blowfish
