#include "blowfish/index/key_filter.h"

#include <array>
#include <cstring>

#include "blowfish/index/bytes_hash.h"

namespace stout::blowfish {
namespace {

constexpr std::size_t kWordsOfBlock = 8;
constexpr std::size_t kBlockBytesOfFilter = kWordsOfBlock * sizeof(std::uint32_t);
constexpr std::uint64_t kBitsOfKey = 10;

/// Odd numbers, as Parquet has them.
constexpr std::array<std::uint32_t, kWordsOfBlock> kSalts = {
    0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

std::size_t FirstWord(std::uint64_t hash, std::size_t words) {
  return (hash >> 32) * (words / kWordsOfBlock) >> 32 << 3;
}

std::uint32_t BitIn(std::size_t word, std::uint64_t hash) {
  return std::uint32_t{1} << (static_cast<std::uint32_t>(hash) * kSalts[word] >> 27);
}

}  // namespace

Result<KeyFilter> KeyFilter::Open(std::span<const std::byte> bytes) {
  if (bytes.size() % kBlockBytesOfFilter != 0) return Errc::kCorrupt;
  KeyFilter filter;
  filter.words_ = {reinterpret_cast<const std::uint32_t*>(bytes.data()),
                   bytes.size() / sizeof(std::uint32_t)};
  return filter;
}

std::uint64_t KeyFilter::HashOf(std::string_view key) {
  // Not the hash that chooses the shard, of which all keys of a shard have something in common.
  return Xxh3(key, 1);
}

bool KeyFilter::MayHave(std::uint64_t hash) const {
  if (words_.empty()) return true;
  const std::uint32_t* const block = words_.data() + FirstWord(hash, words_.size());
  std::uint32_t missing = 0;
  for (std::size_t i = 0; i < kWordsOfBlock; ++i) missing |= BitIn(i, hash) & ~block[i];
  return missing == 0;
}

std::vector<std::byte> BuildKeyFilter(std::span<const std::uint64_t> hashes) {
  constexpr std::uint64_t kBitsOfBlock = 8 * kBlockBytesOfFilter;
  const std::uint64_t blocks = (hashes.size() * kBitsOfKey + kBitsOfBlock - 1) / kBitsOfBlock;
  std::vector<std::uint32_t> words(blocks * kWordsOfBlock);
  for (const std::uint64_t hash : hashes) {
    const std::size_t first = FirstWord(hash, words.size());
    for (std::size_t i = 0; i < kWordsOfBlock; ++i) words[first + i] |= BitIn(i, hash);
  }
  std::vector<std::byte> bytes(words.size() * sizeof(std::uint32_t));
  if (!bytes.empty()) std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

}  // namespace stout::blowfish
