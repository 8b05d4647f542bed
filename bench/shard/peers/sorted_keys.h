#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "blowfish/index/bits.h"
#include "shard/oracle.h"
#include "shard/space.h"

namespace stout::bench::shard {

/// Maps 8-byte keys to records. The first of every 64 keys is stored whole. The others are
/// differences, in as many bits as the widest of the 64 needs.
///
/// Space: some 11 bits for each of lineitem's keys.
/// Cost: a binary search over the first ones, then up to 63 additions.
class SortedKeys {
 public:
  /// Keys in ascending order. Throws std::runtime_error for others, or of another size.
  void Add(std::string_view key);
  /// Once, behind the last one.
  void Finish();

  [[nodiscard]] RecordNumber size() const { return size_; }
  [[nodiscard]] std::optional<RecordNumber> Find(std::string_view key) const;
  [[nodiscard]] Space Bytes() const;

 private:
  struct Block {
    std::uint64_t first;  // key of it
    std::uint64_t bit;    // in differences_
    int width;
  };

  void EndBlock();

  RecordNumber size_ = 0;
  std::vector<Block> blocks_;
  std::vector<std::byte> differences_;

  // While keys are added:
  std::uint64_t last_ = 0;
  std::vector<std::uint64_t> open_;  // those of the last block
  blowfish::BitWriter writer_;
};

}  // namespace stout::bench::shard
