#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace stout::blowfish {

/// 64-bit words that begin as zero, in one allocation.
///
/// Large ones are mapped. They are made in microseconds for any size, because the kernel zeroes a
/// page when it is first touched. They have huge pages where the kernel grants them. A freed block
/// goes back to the kernel at once, which the heap does not promise.
///
/// Owner: it owns them; a moved-from one is empty.   Errors: throws std::bad_alloc.
class ZeroedWords {
 public:
  ZeroedWords() = default;
  explicit ZeroedWords(std::size_t size);

  /// Null if empty. Words may be changed through it, as through a unique_ptr.
  [[nodiscard]] std::uint64_t* data() const { return words_.get(); }
  /// Memory taken: whole pages where mapped, whether touched or not.
  [[nodiscard]] std::size_t bytes() const { return words_ ? words_.get_deleter().bytes : 0; }

 private:
  // Maps what makes the rounding to whole pages cost less than 2 %.
  static constexpr std::size_t kMapFrom = std::size_t{256} << 10;

  struct Free {
    std::size_t bytes;
    void operator()(std::uint64_t* words) const;
  };

  using Words = std::unique_ptr<std::uint64_t[], Free>;

  Words words_;
};

}  // namespace stout::blowfish
