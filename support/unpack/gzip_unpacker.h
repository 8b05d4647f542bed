#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "unpack/unpacker.h"

namespace stout::unpack {

/// Unpacks gzip.
class GzipUnpacker final : public Unpacker {
 public:
  GzipUnpacker();
  ~GzipUnpacker() override;

  [[nodiscard]] std::size_t Unpack(std::string_view& packed, std::span<char> out) override;

 private:
  struct Stream;
  const std::unique_ptr<Stream> stream_;
};

}  // namespace stout::unpack
