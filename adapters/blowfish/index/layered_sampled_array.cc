#include "layered_sampled_array.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace stout::blowfish {

LayeredSampledArray::LayeredSampledArray(const SampleShape& shape, ReclaimDomain& domain)
    : shape_(shape),
      domain_(domain),
      columns_(shape.columns),
      finest_(shape.coarsest_implied ? shape.coarsest() : 0) {
  assert(shape.Valid());
}

bool LayeredSampledArray::Add() {
  const std::lock_guard lock(mutex_);
  if (finest() == 1) return false;
  const std::uint32_t distance = finest() == 0 ? shape_.coarsest() : finest() / 2;
  layers_.push_back(std::make_unique<SampleLayer>(shape_, distance));
  for (FillingColumn& column : layers_.back()->columns()) {
    columns_[column.ordinal()].store(ColumnRef::Filling(&column), std::memory_order_release);
  }
  finest_.store(distance, std::memory_order_relaxed);
  NoteFilling();
  return true;
}

bool LayeredSampledArray::Remove() {
  std::unique_ptr<SampleLayer> removed;
  {
    const std::lock_guard lock(mutex_);
    if (layers_.empty()) return false;
    removed = std::move(layers_.back());
    layers_.pop_back();
    for (const FillingColumn& column : removed->columns()) {
      columns_[column.ordinal()].store(ColumnRef(), std::memory_order_release);
    }
    const bool coarsest = removed->distance() == shape_.coarsest();
    finest_.store(coarsest ? 0 : 2 * removed->distance(), std::memory_order_relaxed);
    NoteFilling();
  }
  domain_.Retire(std::move(removed));
  return true;
}

bool LayeredSampledArray::FillIn(FillingColumn& column, std::uint64_t offset, std::uint64_t value) {
  const FillingColumn::Filled filled = column.Fill(offset, value);
  if (filled == FillingColumn::Filled::kLast) Complete(column);
  return filled != FillingColumn::Filled::kBefore;
}

void LayeredSampledArray::Complete(FillingColumn& column) {
  // Fails if the layer has been removed: invariant 1.
  ColumnRef filling = ColumnRef::Filling(&column);
  columns_[column.ordinal()].compare_exchange_strong(filling, ColumnRef::Full(column.words()),
                                                     std::memory_order_release,
                                                     std::memory_order_relaxed);
  SampleLayer& layer = column.layer();
  if (!layer.ColumnCompleted()) return;

  ZeroedWords bitmap;
  {
    const std::lock_guard lock(mutex_);
    if (!Exists(layer)) return;  // Its bitmap goes with it.
    bitmap = layer.TakeBitmap();
    NoteFilling();
  }
  domain_.Retire(std::move(bitmap));
}

// Compares addresses: of a layer that a guard of the caller's keeps, no other has the same.
bool LayeredSampledArray::Exists(const SampleLayer& layer) const {
  return std::any_of(layers_.begin(), layers_.end(),
                     [&](const auto& existing) { return existing.get() == &layer; });
}

void LayeredSampledArray::NoteFilling() {
  filling_.store(std::ranges::any_of(layers_, [](const auto& layer) { return !layer->full(); }),
                 std::memory_order_relaxed);
}

std::vector<LayerInfo> LayeredSampledArray::Layers() const {
  std::vector<LayerInfo> infos;
  if (shape_.coarsest_implied) {
    infos.push_back({.distance = shape_.coarsest(),
                     .state = LayerState::kImplied,
                     .entries = shape_.Entries(0),
                     .filled = shape_.Entries(0)});
  }
  const std::lock_guard lock(mutex_);
  for (const auto& layer : layers_) {
    infos.push_back({.distance = layer->distance(),
                     .state = layer->full() ? LayerState::kFull : LayerState::kFilling,
                     .entries = layer->entries(),
                     .filled = layer->Filled(),
                     .bytes = layer->bytes()});
  }
  return infos;
}

std::size_t LayeredSampledArray::bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const auto& layer : layers_) sum += layer->bytes();
  return sum;
}

bool LayeredSampledArray::Unpack(std::uint32_t ordinal, std::uint64_t first_offset,
                                 std::span<std::uint32_t> out) const {
  return UnpackInto(ordinal, first_offset, out);
}

bool LayeredSampledArray::Unpack(std::uint32_t ordinal, std::uint64_t first_offset,
                                 std::span<std::uint64_t> out) const {
  return UnpackInto(ordinal, first_offset, out);
}

bool LayeredSampledArray::Gather(std::uint32_t ordinal, std::span<std::uint32_t> offsets) const {
  assert(shape_.width <= std::numeric_limits<std::uint32_t>::digits);
  const ColumnRef column = columns_[ordinal].load(std::memory_order_acquire);
  if (!column.full()) return false;
  for (std::uint32_t& number : offsets) {
    assert(number < shape_.Entries(ordinal));
    const std::uint64_t bit = std::uint64_t{number} * shape_.width;
    number = static_cast<std::uint32_t>(ReadShared(column.words(), bit, shape_.width));
  }
  return true;
}

template <typename Number>
bool LayeredSampledArray::UnpackInto(std::uint32_t ordinal, std::uint64_t first_offset,
                                     std::span<Number> out) const {
  assert(first_offset + out.size() <= shape_.Entries(ordinal));
  assert(shape_.width <= std::numeric_limits<Number>::digits);
  const ColumnRef column = columns_[ordinal].load(std::memory_order_acquire);
  if (!column.full()) return false;
  ReadShared(column.words(), first_offset * shape_.width, shape_.width, out);
  return true;
}

}  // namespace stout::blowfish
