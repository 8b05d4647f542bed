#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "unpack/unpacker.h"

namespace stout::unpack {

/// Unpacks zstd.
///
/// Cost: memory for a frame's window, at most 128 MiB: frames of `zstd --long=28` and beyond are an
/// error, as for zstd itself.
class ZstdUnpacker final : public Unpacker {
 public:
  ZstdUnpacker();
  ~ZstdUnpacker() override;

  [[nodiscard]] std::size_t Unpack(std::string_view& packed, std::span<char> out) override;

 private:
  struct Stream;
  const std::unique_ptr<Stream> stream_;
};

}  // namespace stout::unpack
