#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace stout::unpack {

/// Unpacks a stream of one or more frames (gzip: members).
class Unpacker {
 public:
  Unpacker() = default;
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  virtual ~Unpacker() = default;

  /// Removes the bytes that it can take from the front of `packed`. Returns the number of bytes
  /// that it has put into `out`. Call it again; if `packed` is empty, with the next bytes. See
  /// error().
  [[nodiscard]] virtual std::size_t Unpack(std::string_view& packed, std::span<char> out) = 0;

  /// Returns true if the stream may end here.
  [[nodiscard]] bool at_end_of_frame() const { return at_end_; }
  /// Empty, or the reason why the stream cannot be unpacked.
  [[nodiscard]] const std::string& error() const { return error_; }

 protected:
  bool at_end_ = true;
  std::string error_;
};

/// Returns the unpacker of a stream that begins with `head`: its first four bytes, or all if it is
/// shorter. Returns null if neither gzip nor zstd has packed it.
[[nodiscard]] std::unique_ptr<Unpacker> MakeUnpacker(std::string_view head);

}  // namespace stout::unpack
