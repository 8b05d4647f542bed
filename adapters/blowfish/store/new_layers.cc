#include "blowfish/store/new_layers.h"

#include <new>
#include <utility>

#include "blowfish/index/block_texts.h"
#include "blowfish/store/file_layers.h"
#include "blowfish/store/layer_ladder.h"

namespace stout::blowfish {
namespace {

/// Amount that is filled before the stop token is looked at again: about ten milliseconds of work.
constexpr std::uint32_t kFillRecords = 1 << 12;
constexpr std::uint64_t kFillBytes = std::uint64_t{256} << 10;

std::size_t AddUpTo(auto& layers, std::size_t wanted) {
  const std::size_t before = layers.layers();
  try {
    while (layers.layers() < wanted && layers.Add()) continue;
  } catch (const std::bad_alloc&) {
  }
  return layers.layers() - before;
}

}  // namespace

NewLayers::NewLayers(std::shared_ptr<SuccinctStore> store, std::size_t wanted)
    : store_(store), layers_(NextOf(*store)) {
  if (auto* const blocks = std::get_if<BlockLayers>(&layers_)) {
    count_ = AddUpTo(*blocks, wanted);
    bytes_ = blocks->bytes();
  } else {
    LayerLadder ladder(std::get<IndexLayers>(layers_));
    count_ = AddUpTo(ladder, wanted);
    bytes_ = ladder.bytes();
  }
}

NewLayers::Layers NewLayers::NextOf(SuccinctStore& store) {
  if (const BlockLayers* const blocks = store.block_layers()) return blocks->Next();
  return store.index_layers().Next();
}

bool NewLayers::Fill(const std::stop_token& stop) {
  const auto fill = [&](auto part, const auto& filling) {
    while (next_ < store_->records() && filling()) {
      if (stop.stop_requested()) return false;
      const std::uint32_t last = store_->EndOfPart(next_, kFillBytes, kFillRecords);
      part(next_, last);
      next_ = last;
    }
    return true;
  };
  if (auto* const blocks = std::get_if<BlockLayers>(&layers_)) {
    BlockTexts::Reader reader(*store_->blocks(), *blocks);
    return fill([&](auto first, auto last) { reader.FillLayers(first, last); },
                [&] { return blocks->filling(); });
  }
  IndexLayers& layers = std::get<IndexLayers>(layers_);
  const auto part = [&](auto first, auto last) {
    store_->text() ? store_->text()->FillLayers(layers, first, last)
                   : store_->index().FillLayers(layers, first, last);
  };
  return fill(part, [&] { return layers.filling(); });
}

void NewLayers::Join(SuccinctStore& store) && {
  if (auto* const blocks = std::get_if<BlockLayers>(&layers_)) {
    store.block_layers()->Join(std::move(*blocks));
  } else {
    store.index_layers().Join(std::move(std::get<IndexLayers>(layers_)));
  }
}

}  // namespace stout::blowfish
