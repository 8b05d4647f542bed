#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stout/error.h"

namespace stout::blowfish {

/// Tells which keys a set cannot have, read in place: a split block Bloom filter.
///
///     std::vector<std::byte> bytes = BuildKeyFilter(hashes);  // Into a file...
///     KeyFilter filter = KeyFilter::Open(mapped_bytes).value();
///     if (!filter.MayHave(KeyFilter::HashOf(key))) return std::nullopt;
///
/// Layout: blocks of eight words of 32 bits. The upper half of a hash chooses a block, and the
/// lower half one bit in each of its words. A key is in the set only if all eight bits are set.
///
/// Space: 10 bits a key, in whole blocks.
/// Cost: one cache line. About 1 % of other keys look as if they were in the set.
/// Owner: the memory outlives it.   Threads: as a const value.
/// Errors: only Open() fails. Any whole blocks are a filter, so damaged ones may rule out keys of
/// the set. The file's checksum finds that.
/// Source: Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters" (2007); the
///   form is that of Apache Parquet.
class KeyFilter {
 public:
  /// A filter of all keys.
  KeyFilter() = default;

  /// `bytes` are aligned to words. kCorrupt: no writer gave them.
  [[nodiscard]] static Result<KeyFilter> Open(std::span<const std::byte> bytes);

  /// The hash that filters are made of. It is part of what is on disk.
  [[nodiscard]] static std::uint64_t HashOf(std::string_view key);

  [[nodiscard]] bool MayHave(std::uint64_t hash) const;

 private:
  std::span<const std::uint32_t> words_;
};

/// Returns the filter of the keys with these hashes.
[[nodiscard]] std::vector<std::byte> BuildKeyFilter(std::span<const std::uint64_t> hashes);

}  // namespace stout::blowfish
