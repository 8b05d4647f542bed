#include "node/value_format.h"

namespace stout::node {
namespace {

constexpr std::string_view kMark("\0stx1", 5);
constexpr std::size_t kHeader = kMark.size() + sizeof(std::int64_t);
static_assert(kHeader == kValueHeader);

}  // namespace

std::string EncodeValue(std::string value, std::int64_t deadline) {
  if (deadline == kNoDeadline && !value.starts_with(kMark)) return value;
  char header[kHeader];
  kMark.copy(header, kMark.size());
  for (std::size_t i = kHeader; i-- > kMark.size(); deadline >>= 8) {
    header[i] = static_cast<char>(deadline & 0xff);
  }
  return value.insert(0, header, kHeader);
}

DatedValue DecodeValue(std::string_view stored) {
  if (stored.size() < kHeader || !stored.starts_with(kMark)) return {stored};
  std::uint64_t deadline = 0;
  for (const char byte : stored.substr(kMark.size(), sizeof(deadline))) {
    deadline = deadline << 8 | static_cast<unsigned char>(byte);
  }
  if (static_cast<std::int64_t>(deadline) < 0) return {stored};
  return {stored.substr(kHeader), static_cast<std::int64_t>(deadline)};
}

}  // namespace stout::node
