#pragma once

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
  explicit HiddenRecords(std::uint32_t records) : hidden_(records) {}

  void Hide(std::uint32_t record) {
    count_ += !hidden_[record];
    hidden_[record] = true;
  }
  [[nodiscard]] bool Has(std::uint32_t record) const { return hidden_[record]; }
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::size_t bytes() const { return hidden_.capacity() / 8; }

 private:
  std::vector<bool> hidden_;
  std::uint32_t count_ = 0;
};

}  // namespace stout::blowfish
