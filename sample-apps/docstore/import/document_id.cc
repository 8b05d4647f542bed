#include "import/document_id.h"

#include <fmt/format.h>

#include <cstdint>

#include "protocol/id.h"

namespace stout::docstore {
namespace {

// FNV-1a: the same on every machine, unlike std::hash.
std::uint32_t Digest(std::string_view text) {
  std::uint32_t digest = 2166136261;
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 16777619;
  return digest;
}

std::string Sanitise(std::string_view path) {
  std::string id;
  for (const char c : path) {
    if (c == '/') {
      if (!id.empty()) id += '.';
    } else {
      id += IsId({&c, 1}) ? c : '_';
    }
  }
  return id.empty() ? "document" : id;
}

}  // namespace

std::string DocumentIds::Take(std::string_view path) {
  constexpr std::size_t kLongest = kMaxIdBytes - 6;  // leaves room for "-99999"
  std::string id = Sanitise(path);
  if (id.size() > kLongest) {
    const std::string digest = fmt::format("{:08x}-", Digest(path));
    id = digest + id.substr(id.size() - (kLongest - digest.size()));
  }
  std::string unique = id;
  for (int n = 2; !taken_.insert(unique).second; ++n) unique = fmt::format("{}-{}", id, n);
  return unique;
}

}  // namespace stout::docstore
