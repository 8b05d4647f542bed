#include "unpack/gzip_unpacker.h"

#define ZLIB_CONST
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

namespace stout::unpack {
namespace {

uInt SizeOf(std::size_t size) {
  return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
}

}  // namespace

struct GzipUnpacker::Stream {
  Stream() {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&state, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { inflateEnd(&state); }

  z_stream state{};
};

GzipUnpacker::GzipUnpacker() : stream_(std::make_unique<Stream>()) {}
GzipUnpacker::~GzipUnpacker() = default;

std::size_t GzipUnpacker::Unpack(std::string_view& packed, std::span<char> out) {
  z_stream& state = stream_->state;
  if (at_end_) {
    if (packed.empty()) return 0;
    inflateReset(&state);
    at_end_ = false;
  }
  state.next_in = reinterpret_cast<const Bytef*>(packed.data());
  state.avail_in = SizeOf(packed.size());
  state.next_out = reinterpret_cast<Bytef*>(out.data());
  state.avail_out = SizeOf(out.size());
  const uInt had_in = state.avail_in;
  const uInt had_out = state.avail_out;
  const int result = inflate(&state, Z_NO_FLUSH);
  at_end_ = result == Z_STREAM_END;
  if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
    error_ = state.msg != nullptr ? state.msg : zError(result);
    packed = {};
    return 0;
  }
  packed.remove_prefix(had_in - state.avail_in);
  return had_out - state.avail_out;
}

}  // namespace stout::unpack
