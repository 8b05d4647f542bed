// How a Shard gets and loses layers.

#include <algorithm>
#include <utility>

#include "blowfish/store/shard.h"

namespace stout::blowfish {

bool Shard::AddLayers(std::size_t count) {
  const std::uint64_t before = layer_bytes();
  const auto more = static_cast<std::uint32_t>(std::min<std::size_t>(count, 1 << 10));
  const LayerNumbers had = layer_numbers();
  StopFilling();
  DropOrders();
  OrderLayers({had.of_indexes + more, had.of_blocks + more});
  return layer_bytes() > before || files_.size() == 0;
}

bool Shard::RemoveLayer() {
  if (layers() == 0) return false;
  StopFilling();
  const std::uint64_t before = layer_bytes();  // without the bitmaps of layers that are full now
  const auto most = static_cast<std::uint32_t>(layers()) - 1;
  DropOrders();
  if (layer_bytes() == before) files_.RemoveLayersAbove({most, most});
  WantLayers({most, most});
  return true;
}

void Shard::OrderLayers(LayerNumbers wanted) {
  ordered_layers_ =
      files_.OrderLayers(wanted, options_.layer_filling, std::exchange(ordered_layers_, {}));
  WantLayers(wanted);
  if (!ordered_layers_.empty()) options_.wake();
}

void Shard::WantLayers(LayerNumbers wanted) {
  wanted_layers_ = files_.size() == 0 ? wanted : files_.layer_numbers();
}

void Shard::FillLayers() {
  filler_.TakeFull([this](NewLayers layers) { files_.Install(std::move(layers)); });
  if (ordered_layers_.empty()) return;
  // If it cannot begin, the shard is only slower.
  if (filler_.Begin(std::exchange(ordered_layers_, {}))) files_.DropOrders();
  WantLayers(layer_numbers());
}

void Shard::StopFilling() {
  if (std::vector<NewLayers> begun = filler_.Stop(); !begun.empty())
    ordered_layers_ = std::move(begun);
  filler_.TakeFull([this](NewLayers layers) { files_.Install(std::move(layers)); });
}

void Shard::DropOrders() {
  ordered_layers_.clear();
  files_.DropOrders();
}

}  // namespace stout::blowfish
