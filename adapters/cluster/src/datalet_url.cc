#include "stout/adapters/datalet_url.h"

#include <fmt/format.h>

#include <algorithm>

#include "stout/core/lease_table.h"

namespace stout {
namespace {

// A scheme may be in capitals.
std::string SchemeOf(std::string_view url) {
  std::string scheme(url.substr(0, url.find(':')));
  std::transform(scheme.begin(), scheme.end(), scheme.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return scheme;
}

}  // namespace

std::string DataletIdOf(const std::string& url) {
  return fmt::format("{}-{:016x}", url.substr(0, url.find(':')), internal::NameHash(url));
}

bool IsEmbedded(std::string_view url) {
  const std::string scheme = SchemeOf(url);
  return scheme.ends_with("memory") || scheme.ends_with("rocksdb");
}

bool IsOfNode(std::string_view url) { return SchemeOf(url) == "stout"; }

}  // namespace stout
