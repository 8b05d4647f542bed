#pragma once

#include <algorithm>
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
  LayerLadder ladder = store.ladder();
  return visit(ladder);
}

/// Adds or removes layers until the file has this number, or can have no more. Returns true if it
/// added some. Throws std::bad_alloc; then the file has some of them.
inline bool SetLayers(SuccinctStore& store, std::size_t wanted) {
  return VisitLayers(store, [wanted](auto& layers) {
    while (layers.layers() > wanted && layers.Remove()) continue;
    bool added = false;
    while (layers.layers() < wanted && layers.Add()) added = true;
    return added;
  });
}

/// The numbers of layers of a shard's files. Files with blocks have a number of their own, because
/// their layers are larger by far: up to all values.
struct LayerNumbers {
  std::uint32_t of_indexes = 0;
  std::uint32_t of_blocks = 0;

  [[nodiscard]] std::uint32_t Of(const SuccinctStore& store) const {
    return store.blocks() != nullptr ? of_blocks : of_indexes;
  }
  [[nodiscard]] std::uint32_t most() const { return std::max(of_indexes, of_blocks); }
};

[[nodiscard]] inline bool HasLayersToFill(SuccinctStore& store) {
  return VisitLayers(store, [](const auto& layers) { return layers.filling(); });
}

}  // namespace stout::blowfish
