#include "blowfish/index/layered_sampled_array.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace stout::blowfish {

LayeredSampledArray::LayeredSampledArray(const SampleShape& shape)
    : shape_(shape),
      columns_(shape.columns),
      finest_(shape.coarsest_implied ? shape.coarsest() : 0) {
  assert(shape.Valid());
  layers_.reserve(shape.coarsest_exponent + 1);
}

LayeredSampledArray::LayerWords LayeredSampledArray::WordsOfLayer(const SampleShape& shape,
                                                                  std::uint32_t distance) {
  LayerWords words;
  shape.ForEachColumn(distance, [&](std::uint32_t ordinal) {
    const std::uint64_t entries = shape.Entries(ordinal);
    words.values += WordsOf(entries * shape.width);
    words.bitmap += WordsOf(entries);
  });
  if (words.bitmap > 0) ++words.values;  // ReadBits looks beyond the last number.
  return words;
}

bool LayeredSampledArray::Add() {
  if (finest_ == 1) return false;
  Layer layer{.distance = finest_ == 0 ? shape_.coarsest() : finest_ / 2};
  const LayerWords words = WordsOfLayer(shape_, layer.distance);
  layer.values = ZeroedWords(words.values);
  layer.bitmap = ZeroedWords(words.bitmap);
  layers_.push_back(std::move(layer));

  Layer& added = layers_.back();
  std::uint64_t* values = added.values.data();
  std::uint64_t* bitmap = added.bitmap.data();
  shape_.ForEachColumn(added.distance, [&](std::uint32_t ordinal) {
    const std::uint64_t entries = shape_.Entries(ordinal);
    if (entries == 0) return;
    columns_[ordinal] = {reinterpret_cast<std::byte*>(values), bitmap, entries};
    added.entries += entries;
    ++added.open_columns;
    values += WordsOf(entries * shape_.width);
    bitmap += WordsOf(entries);
  });
  finest_ = added.distance;
  NoteFilling();
  return true;
}

LayeredSampledArray LayeredSampledArray::Next() const {
  LayeredSampledArray next(shape_);
  next.finest_ = finest_;
  return next;
}

void LayeredSampledArray::Join(LayeredSampledArray next) {
  for (Layer& layer : next.layers_) {
    shape_.ForEachColumn(
        layer.distance, [&](std::uint32_t ordinal) { columns_[ordinal] = next.columns_[ordinal]; });
    layers_.push_back(std::move(layer));
  }
  finest_ = next.finest_;
  NoteFilling();
}

bool LayeredSampledArray::Remove() {
  if (layers_.empty()) return false;
  shape_.ForEachColumn(finest_, [&](std::uint32_t ordinal) { columns_[ordinal] = {}; });
  layers_.pop_back();
  finest_ = finest_ == shape_.coarsest() ? 0 : 2 * finest_;
  NoteFilling();
  return true;
}

void LayeredSampledArray::Set(std::uint64_t index, std::uint64_t value) {
  assert(LowBits(value, shape_.width) == value);
  const std::uint32_t ordinal = shape_.Ordinal(index);
  const std::uint64_t offset = shape_.Offset(index);
  Column& column = columns_[ordinal];
  SetBits(column.values, offset * shape_.width, shape_.width, value);
  column.filled[offset / kWordBits] |= std::uint64_t{1} << offset % kWordBits;
  if (--column.lacking == 0) Complete(ordinal);
}

void LayeredSampledArray::Complete(std::uint32_t ordinal) {
  columns_[ordinal].filled = nullptr;
  const std::uint32_t distance =
      ordinal == 0 ? shape_.coarsest() : std::uint32_t{1} << std::countr_zero(ordinal);
  Layer& layer = *std::ranges::find(layers_, distance, &Layer::distance);
  if (--layer.open_columns > 0) return;
  layer.bitmap = ZeroedWords();
  NoteFilling();
}

void LayeredSampledArray::NoteFilling() {
  filling_ =
      std::ranges::any_of(layers_, [](const Layer& layer) { return layer.open_columns > 0; });
}

std::vector<LayerInfo> LayeredSampledArray::Layers() const {
  std::vector<LayerInfo> infos;
  if (shape_.coarsest_implied) {
    infos.push_back({.distance = shape_.coarsest(),
                     .state = LayerState::kImplied,
                     .entries = shape_.Entries(0),
                     .filled = shape_.Entries(0)});
  }
  for (const Layer& layer : layers_) {
    std::uint64_t filled = layer.entries;
    shape_.ForEachColumn(layer.distance,
                         [&](std::uint32_t ordinal) { filled -= columns_[ordinal].lacking; });
    infos.push_back({.distance = layer.distance,
                     .state = layer.open_columns == 0 ? LayerState::kFull : LayerState::kFilling,
                     .entries = layer.entries,
                     .filled = filled,
                     .bytes = layer.bytes()});
  }
  return infos;
}

std::size_t LayeredSampledArray::bytes() const {
  std::size_t sum = 0;
  for (const Layer& layer : layers_) sum += layer.bytes();
  return sum;
}

bool LayeredSampledArray::Unpack(std::uint32_t ordinal, std::uint64_t first_offset,
                                 std::span<std::uint32_t> out) const {
  assert(first_offset + out.size() <= shape_.Entries(ordinal));
  assert(shape_.width <= std::numeric_limits<std::uint32_t>::digits);
  const Column& column = columns_[ordinal];
  if (!column.full()) return false;
  const std::byte* const values = column.values;
  const int width = shape_.width;
  std::uint64_t bit = first_offset * width;
  for (std::uint32_t& number : out) {
    number = static_cast<std::uint32_t>(ReadBits(values, bit, width));
    bit += width;
  }
  return true;
}

bool LayeredSampledArray::Gather(std::uint32_t ordinal, std::span<std::uint32_t> offsets) const {
  assert(shape_.width <= std::numeric_limits<std::uint32_t>::digits);
  const Column& column = columns_[ordinal];
  if (!column.full()) return false;
  for (std::uint32_t& number : offsets) {
    assert(number < shape_.Entries(ordinal));
    const std::uint64_t bit = std::uint64_t{number} * shape_.width;
    number = static_cast<std::uint32_t>(ReadBits(column.values, bit, shape_.width));
  }
  return true;
}

}  // namespace stout::blowfish
