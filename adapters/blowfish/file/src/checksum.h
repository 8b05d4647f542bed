#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace stout::blowfish {

/// XXH3, 64 bits: finds what disks and memory do to bytes, at their speed. An enemy can forge it.
[[nodiscard]] std::uint64_t Checksum(std::span<const std::byte> bytes);

/// The same, of bytes that come in pieces.
class RunningChecksum {
 public:
  RunningChecksum();

  void Reset();
  void Add(std::span<const std::byte> bytes);
  [[nodiscard]] std::uint64_t value() const;  ///< Of what was added since the last Reset().

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

}  // namespace stout::blowfish
