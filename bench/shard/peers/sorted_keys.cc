#include "shard/peers/sorted_keys.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "shard/number_key.h"
#include "shard/peers/padded_bytes.h"

namespace stout::bench::shard {
namespace {

constexpr RecordNumber kKeysPerBlock = 64;

}  // namespace

void SortedKeys::Add(std::string_view key) {
  const std::optional<std::uint64_t> number = ToNumber(key);
  if (!number) throw std::runtime_error("a key is not of 8 bytes");
  if (size_ > 0 && *number <= last_) throw std::runtime_error("keys do not ascend");
  if (open_.size() == kKeysPerBlock) EndBlock();
  open_.push_back(last_ = *number);
  ++size_;
}

void SortedKeys::Finish() {
  if (!open_.empty()) EndBlock();
  differences_ = PaddedBytes(writer_);
  blocks_.shrink_to_fit();
}

void SortedKeys::EndBlock() {
  std::uint64_t widest = 0;
  for (std::size_t i = 1; i < open_.size(); ++i) widest |= open_[i] - open_[i - 1];
  const int width = blowfish::BitWidth(widest);
  if (width > blowfish::kMaxBitWidth) throw std::runtime_error("keys are too far apart");
  blocks_.push_back({open_.front(), writer_.bits(), width});
  for (std::size_t i = 1; i < open_.size(); ++i) writer_.Put(open_[i] - open_[i - 1], width);
  open_.clear();
}

std::optional<RecordNumber> SortedKeys::Find(std::string_view key) const {
  const std::optional<std::uint64_t> number = ToNumber(key);
  if (!number) return std::nullopt;
  const auto behind = std::upper_bound(
      blocks_.begin(), blocks_.end(), *number,
      [](std::uint64_t wanted, const Block& block) { return wanted < block.first; });
  if (behind == blocks_.begin()) return std::nullopt;
  const Block& block = *std::prev(behind);
  const auto first = static_cast<RecordNumber>(std::prev(behind) - blocks_.begin()) * kKeysPerBlock;
  const RecordNumber last = std::min(first + kKeysPerBlock, size_) - 1;
  RecordNumber record = first;
  std::uint64_t found = block.first;
  for (std::uint64_t bit = block.bit; found < *number && record < last; bit += block.width) {
    found += blowfish::ReadBits(differences_.data(), bit, block.width);
    ++record;
  }
  if (found != *number) return std::nullopt;
  return record;
}

Space SortedKeys::Bytes() const {
  Space space;
  space.Add("first of 64", blocks_.capacity() * sizeof(Block));
  space.Add("differences", differences_.capacity());
  return space;
}

}  // namespace stout::bench::shard
