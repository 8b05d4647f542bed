#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace stout::unpack {

/// Unpacks a stream, which may be several frames (gzip: members) one behind the other.
class Unpacker {
 public:
  Unpacker() = default;
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  virtual ~Unpacker() = default;

  /// Removes what it can take from `packed`, and returns how many bytes it has put into `out`. Call
  /// it again, with more where `packed` is empty. See error().
  [[nodiscard]] virtual std::size_t Unpack(std::string_view& packed, std::span<char> out) = 0;

  /// The stream may end here.
  [[nodiscard]] bool at_end_of_frame() const { return at_end_; }
  /// Empty, or the reason why the stream cannot be unpacked.
  [[nodiscard]] const std::string& error() const { return error_; }

 protected:
  bool at_end_ = true;
  std::string error_;
};

/// Returns what unpacks a stream that begins with `head`, of at least four bytes if it has them.
/// Returns null if neither gzip nor zstd has packed it.
[[nodiscard]] std::unique_ptr<Unpacker> MakeUnpacker(std::string_view head);

}  // namespace stout::unpack
