#pragma once

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
  [[nodiscard]] std::uint64_t value() const;  ///< of the bytes since the last Reset()

 private:
  struct Free {
    void operator()(void* state) const;
  };
  std::unique_ptr<void, Free> state_;  // xxHash's, whose type has another name beside bytes_hash.h.
};

}  // namespace stout::blowfish
