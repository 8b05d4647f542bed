#include "sample_layer.h"

#include <bit>

namespace stout::blowfish {

FillingColumn::FillingColumn(SampleLayer& layer, std::uint32_t ordinal, std::uint64_t entries,
                             int width, std::uint64_t* words, std::uint64_t* bitmap)
    : layer_(layer),
      ordinal_(ordinal),
      width_(width),
      words_(words),
      bitmap_(bitmap),
      open_words_(WordsOf(entries)) {
  // So that a word is complete when it is all ones, the last one too.
  const int used = entries % kWordBits;
  if (used != 0) bitmap_[entries / kWordBits] = ~std::uint64_t{0} << used;
}

FillingColumn::Filled FillingColumn::Fill(std::uint64_t offset, std::uint64_t value) {
  assert(LowBits(value, width_) == value);
  // With the same value, unless an index is wrong, whose file was made so: see RecordIndex.
  if (Has(offset)) return Filled::kBefore;
  SetShared(words_, offset * width_, width_, value);
  // Releases the value, and acquires those of all who set bits of this word before.
  const std::uint64_t before = BitmapWord(offset).fetch_or(Bit(offset), std::memory_order_acq_rel);
  if (before & Bit(offset)) return Filled::kBefore;
  if (~(before | Bit(offset)) != 0) return Filled::kNow;
  const bool last = open_words_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  return last ? Filled::kLast : Filled::kNow;
}

SampleLayer::SampleLayer(const SampleShape& shape, std::uint32_t distance) : distance_(distance) {
  std::size_t value_words = 0;
  shape.ForEachColumn(distance, [&](std::uint32_t ordinal) {
    const std::uint64_t entries = shape.Entries(ordinal);
    entries_ += entries;
    value_words += WordsOf(entries * shape.width);
    bitmap_words_ += WordsOf(entries);
  });
  if (entries_ == 0) return;
  // Readers look one word further, and where numbers have no bits at one to begin with.
  values_ = ZeroedWords(value_words + 2);
  bitmap_ = ZeroedWords(bitmap_words_);

  std::uint64_t* words = values_.data();
  std::uint64_t* bitmap = bitmap_.data();
  shape.ForEachColumn(distance, [&](std::uint32_t ordinal) {
    const std::uint64_t entries = shape.Entries(ordinal);
    if (entries == 0) return;
    columns_.emplace_back(*this, ordinal, entries, shape.width, words, bitmap);
    words += WordsOf(entries * shape.width);
    bitmap += WordsOf(entries);
  });
  open_columns_ = columns_.size();
}

std::uint64_t SampleLayer::Filled() const {
  if (full()) return entries_;
  std::uint64_t ones = 0;
  for (std::size_t i = 0; i < bitmap_words_; ++i) {
    ones += std::popcount(LoadShared(bitmap_.data() + i));
  }
  return ones - (bitmap_words_ * kWordBits - entries_);
}

}  // namespace stout::blowfish
