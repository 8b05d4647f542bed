#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace stout::resp {

/// Received bytes that are not used up yet, in one piece.
///
///     input.Commit(Read(socket, input.Prepare(16 << 10)));
///     ... look at input.unread() ...
///     input.Consume(size of a command);
///
/// Bytes stay in place, consumed ones too, until the next Prepare. Therefore the commands of one
/// read can be executed together, with their arguments in place.
///
/// Cost: for every byte that is moved at least one more comes in before the next move, even if a
/// large command comes slowly.
/// Memory: at most twice the unread and requested bytes at a time. Memory beyond `kept` is freed by
///   the first Prepare for which `kept` is enough.
/// Owner: one connection.   Threads: one at a time.
class ReceiveBuffer {
 public:
  /// `kept`: bytes that an idle connection may hold; twice what is usually prepared, or more.
  explicit ReceiveBuffer(std::size_t kept = std::size_t{64} << 10) : kept_(kept) {}
  ReceiveBuffer(const ReceiveBuffer&) = delete;
  ReceiveBuffer& operator=(const ReceiveBuffer&) = delete;

  /// Returns room for at least `size` more bytes, behind the unread ones. Invalidates all pointers
  /// into the buffer.
  [[nodiscard]] std::span<char> Prepare(std::size_t size);
  /// The first `size` bytes of that room have been written.
  void Commit(std::size_t size);

  /// Returns the unread bytes. The caller may change them in place, for example to unescape them.
  [[nodiscard]] std::span<char> unread() { return {bytes_.get() + begin_, end_ - begin_}; }
  /// Takes bytes from the front of what is unread.
  void Consume(std::size_t size);

  /// Bytes of memory.
  [[nodiscard]] std::size_t capacity() const { return capacity_; }

 private:
  void Relocate(std::size_t capacity);

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;  // of the unread bytes
  std::size_t end_ = 0;    // of the unread bytes
  std::size_t kept_;
};

}  // namespace stout::resp
