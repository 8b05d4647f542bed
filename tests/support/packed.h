#pragma once

#include <zlib.h>
#include <zstd.h>

#include <cstdlib>
#include <string>

namespace stout::test {

// Returns the text packed by gzip. The test links ZLIB::ZLIB.
inline std::string Gzip(std::string text) {
  constexpr int kGzip = 16;
  z_stream state{};
  if (deflateInit2(&state, 6, Z_DEFLATED, MAX_WBITS + kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    std::abort();
  }
  std::string packed(deflateBound(&state, text.size()), '\0');
  state.next_in = reinterpret_cast<Bytef*>(text.data());
  state.avail_in = static_cast<uInt>(text.size());
  state.next_out = reinterpret_cast<Bytef*>(packed.data());
  state.avail_out = static_cast<uInt>(packed.size());
  if (deflate(&state, Z_FINISH) != Z_STREAM_END) std::abort();
  packed.resize(state.total_out);
  deflateEnd(&state);
  return packed;
}

// Returns the text packed by zstd. The test links zstd.
inline std::string Zstd(std::string text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 1));
  return packed;
}

}  // namespace stout::test
