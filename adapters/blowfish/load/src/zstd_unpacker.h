#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace stout::blowfish {

/// Unpacks a stream of zstd, which may be several frames one behind the other.
///
/// Cost: memory for a frame's window, at most 128 MiB: frames of `zstd --long=28` and beyond are an
/// error, as for zstd itself.
class ZstdUnpacker {
 public:
  ZstdUnpacker();
  ~ZstdUnpacker();
  ZstdUnpacker(ZstdUnpacker&&) noexcept;
  ZstdUnpacker& operator=(ZstdUnpacker&&) noexcept;

  /// Takes what it can of `packed`, from which it removes that, and answers how many bytes it has
  /// put into `out`. Call it again, with more where `packed` is empty. See error().
  [[nodiscard]] std::size_t Unpack(std::string_view& packed, std::span<char> out);
  /// The stream may end here.
  [[nodiscard]] bool at_end_of_frame() const { return at_end_; }
  /// Empty, or why this is no zstd, or not any more.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
  bool at_end_ = true;
  std::string error_;
};

}  // namespace stout::blowfish
