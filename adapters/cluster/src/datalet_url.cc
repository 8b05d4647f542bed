#include "stout/adapters/datalet_url.h"

#include <fmt/format.h>

#include "stout/core/lease_table.h"

namespace stout {

std::string DataletIdOf(const std::string& url) {
  return fmt::format("{}-{:016x}", url.substr(0, url.find(':')), internal::NameHash(url));
}

bool IsEmbedded(std::string_view url) {
  url = url.substr(0, url.find(':'));
  return url.ends_with("memory") || url.ends_with("rocksdb");
}

}  // namespace stout
