#include "blowfish/index/psi_check.h"

#include <algorithm>
#include <bit>

#include "blowfish/index/psi_block.h"

namespace stout::blowfish {
namespace {

// Returns true if these bytes have this number of ones.
bool HaveOnes(std::span<const std::byte> bytes, std::uint64_t ones) {
  std::uint64_t seen = 0;
  for (const std::byte byte : bytes) {
    seen += std::popcount(static_cast<unsigned>(byte));
    if (seen >= ones) return true;
  }
  return false;
}

// `numbers`: those of the block alone; padding follows.
bool IsReadableBlock(const Form& form, std::span<const std::byte> numbers, std::uint32_t block,
                     std::uint64_t rows) {
  if (form.width > kMaxBitWidth) return false;
  if (form.kind == Form::kGaps) {
    const std::uint64_t low_bytes = PackedBytes(block, form.width);
    return low_bytes <= numbers.size() && HaveOnes(numbers.subspan(low_bytes), rows);
  }
  if (form.kind == Form::kBreaks) {
    if (numbers.empty()) return false;
    const auto count = static_cast<std::uint32_t>(numbers.front());
    return count <= Form::kMaxBreaks &&
           1 + count + PackedBytes(count, form.width) <= numbers.size();
  }
  return true;
}

}  // namespace

bool IsReadable(std::span<const Psi::Entry> entries, std::span<const std::byte> numbers,
                std::uint64_t rows, std::uint32_t block) {
  if (numbers.size() < Psi::kPadding) return false;
  const std::uint64_t end = numbers.size() - Psi::kPadding;
  for (std::size_t b = 0; b < entries.size(); ++b) {
    const Psi::Entry& entry = entries[b];
    const std::uint64_t next = b + 1 < entries.size() ? entries[b + 1].place : end;
    if (next < entry.place || next > end) return false;
    const std::uint64_t rows_here = std::min<std::uint64_t>(block, rows - b * block);
    if (!IsReadableBlock(Form::Unpack(entry.form), numbers.subspan(entry.place, next - entry.place),
                         block, rows_here)) {
      return false;
    }
  }
  return true;
}

}  // namespace stout::blowfish
