#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stout::blowfish {

/// The records of a store whose keys a newer store has.
///
/// Space: a bit a record.   Threads: none of its own; callers serialise.
class HiddenRecords {
 public:
  HiddenRecords() = default;
  explicit HiddenRecords(std::uint32_t records)
      : records_(records), words_((std::size_t{records} + 63) / 64) {}

  void Hide(std::uint32_t record) {
    std::uint64_t& word = words_[record / 64];
    const std::uint64_t bit = std::uint64_t{1} << record % 64;
    count_ += (word & bit) == 0;
    word |= bit;
  }
  [[nodiscard]] bool Has(std::uint32_t record) const {
    return count_ > 0 && (words_[record / 64] >> record % 64 & 1) != 0;
  }
  /// The first hidden record that is not before `record`, or the number of records if there is
  /// none.   Cost: a comparison for 64 records.
  [[nodiscard]] std::uint32_t NextFrom(std::uint32_t record) const {
    if (record >= records_) return records_;
    std::size_t at = record / 64;
    std::uint64_t word = words_[at] & (~std::uint64_t{0} << record % 64);
    while (word == 0) {
      if (++at == words_.size()) return records_;
      word = words_[at];
    }
    return static_cast<std::uint32_t>(64 * at) + static_cast<std::uint32_t>(std::countr_zero(word));
  }
  [[nodiscard]] std::uint32_t count() const { return count_; }

 private:
  std::uint32_t records_ = 0;
  std::vector<std::uint64_t> words_;
  std::uint32_t count_ = 0;
};

}  // namespace stout::blowfish
