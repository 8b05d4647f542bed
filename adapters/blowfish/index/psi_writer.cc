#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "blowfish/index/psi.h"
#include "blowfish/index/psi_block.h"

namespace stout::blowfish {
namespace {

using Numbers = std::array<std::uint64_t, Psi::kLongBlock>;

// The number to add from a row of the block on, until the next break.
struct Break {
  std::uint32_t row;
  std::uint64_t added;
};

// As many breaks as a block can keep, and one more if there are more.
std::vector<Break> FindBreaks(const Numbers& v, std::size_t size) {
  std::vector<Break> breaks;
  std::uint64_t added = 0;
  for (std::uint32_t i = 0; i < size && breaks.size() <= Form::kMaxBreaks; ++i) {
    if (v[i] - i == added) continue;
    added = v[i] - i;
    breaks.push_back({i, added});
  }
  return breaks;
}

std::uint64_t BitsOfBreaks(const std::vector<Break>& breaks, int width) {
  return 8 + breaks.size() * (8 + width);
}

// The last number has the largest high part.
std::uint64_t BitsOfGaps(std::uint64_t largest, std::uint32_t block, std::size_t size, int width) {
  return std::uint64_t{block} * width + (largest >> width) + size;
}

int BestWidthOfGaps(std::uint64_t largest, std::uint32_t block, std::size_t size) {
  int best = 0;
  for (int width = 1; width < kMaxBitWidth && (largest >> width) > 0; ++width) {
    if (BitsOfGaps(largest, block, size, width) < BitsOfGaps(largest, block, size, best)) {
      best = width;
    }
  }
  return best;
}

void WriteBreaks(const std::vector<Break>& breaks, int width, BitWriter& bits) {
  bits.Put(breaks.size(), 8);
  for (const Break& b : breaks) bits.Put(b.row, 8);
  for (const Break& b : breaks) bits.Put(b.added, width);
}

void WriteGaps(const Numbers& v, std::uint32_t block, std::size_t size, int width,
               BitWriter& bits) {
  for (std::uint32_t i = 0; i < block; ++i) {
    bits.Put(i < size ? LowBits(v[i] - i, width) : 0, width);
  }
  std::uint64_t high = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    std::uint64_t zeros = ((v[i] - i) >> width) - high;
    high += zeros;
    for (; zeros >= 63; zeros -= 63) bits.Put(0, 63);
    bits.Put(std::uint64_t{1} << zeros, static_cast<int>(zeros) + 1);
  }
}

}  // namespace

void PsiWriter::Append(Symbol symbol, Row next) {
  assert(rows_ < kMaxRows);
  block_.push_back({.symbol = symbol, .next = next});
  ++rows_;
  if (block_.size() == parts_.block) WriteBlock();
}

void PsiWriter::WriteBlock() {
  const std::size_t size = block_.size();
  const auto [lowest, highest] = std::minmax_element(
      block_.begin(), block_.end(), [](const auto& a, const auto& b) { return a.next < b.next; });
  const Symbol symbol = block_.front().symbol;
  Form form;
  if (block_.back().symbol != symbol) {
    form.symbol_shift = std::max(1, BitWidth(highest->next - lowest->next));
  }
  Numbers v;
  for (std::size_t i = 0; i < size; ++i) {
    v[i] = static_cast<std::uint64_t>(block_[i].symbol - symbol) << form.symbol_shift |
           (block_[i].next - lowest->next);
    assert(i == 0 || v[i] > v[i - 1]);
  }

  const std::uint64_t largest = v[size - 1] - (size - 1);
  const std::vector<Break> breaks = FindBreaks(v, size);
  const int break_width = BitWidth(largest);
  const int gap_width = BestWidthOfGaps(largest, parts_.block, size);
  parts_.entries.push_back({.lowest = lowest->next,
                            .place = static_cast<std::uint32_t>(parts_.numbers.size()),
                            .symbol = symbol});
  if (breaks.size() <= Form::kMaxBreaks &&
      BitsOfBreaks(breaks, break_width) <= BitsOfGaps(largest, parts_.block, size, gap_width)) {
    if (!breaks.empty()) {
      form.kind = Form::kBreaks;
      form.width = break_width;
      WriteBreaks(breaks, break_width, bits_);
    }
  } else {
    form.kind = Form::kGaps;
    form.width = gap_width;
    WriteGaps(v, parts_.block, size, gap_width, bits_);
  }
  parts_.entries.back().form = form.Pack();
  const std::vector<std::byte> numbers = bits_.Take();
  parts_.numbers.insert(parts_.numbers.end(), numbers.begin(), numbers.end());
  block_.clear();
}

PsiWriter::Parts PsiWriter::Finish() {
  if (!block_.empty()) WriteBlock();
  parts_.numbers.resize(parts_.numbers.size() + Psi::kPadding);
  parts_.rows = std::exchange(rows_, 0);
  return std::move(parts_);
}

}  // namespace stout::blowfish
