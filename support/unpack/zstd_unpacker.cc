#include "unpack/zstd_unpacker.h"

#include <zstd.h>

#include <new>

namespace stout::unpack {

struct ZstdUnpacker::Stream {
  Stream() : context(ZSTD_createDStream()) {
    if (context == nullptr) throw std::bad_alloc();
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { ZSTD_freeDStream(context); }

  ZSTD_DStream* const context;
};

ZstdUnpacker::ZstdUnpacker() : stream_(std::make_unique<Stream>()) {}
ZstdUnpacker::~ZstdUnpacker() = default;

std::size_t ZstdUnpacker::Unpack(std::string_view& packed, std::span<char> out) {
  ZSTD_inBuffer input{packed.data(), packed.size(), 0};
  ZSTD_outBuffer output{out.data(), out.size(), 0};
  const std::size_t result = ZSTD_decompressStream(stream_->context, &output, &input);
  if (ZSTD_isError(result) != 0) {
    error_ = ZSTD_getErrorName(result);
    packed = {};
    return 0;
  }
  // Without input it expects the next frame's head, and would say so.
  if (input.pos > 0 || output.pos > 0) at_end_ = result == 0;
  packed.remove_prefix(input.pos);
  return output.pos;
}

}  // namespace stout::unpack
