#include "load/documents.h"

#include <fmt/format.h>

#include "stout/core/random.h"

namespace stout::bench {
namespace {

constexpr std::size_t kFillerBytes = std::size_t{1} << 16;

}  // namespace

Documents::Documents(std::size_t server, std::size_t count, std::size_t value_bytes,
                     std::uint64_t seed)
    : value_bytes_(value_bytes), filler_(kFillerBytes + value_bytes, '\0') {
  keys_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    keys_.push_back(fmt::format("server-{:03}/document-{:06}", server, i));
  }
  SplitMix64 random(seed);
  for (char& c : filler_) c = static_cast<char>(random.Next());
}

std::string_view Documents::NextValue() {
  offset_ = (offset_ + 1) % kFillerBytes;
  return std::string_view(filler_).substr(offset_, value_bytes_);
}

}  // namespace stout::bench
