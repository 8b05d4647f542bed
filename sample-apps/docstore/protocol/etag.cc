#include "protocol/etag.h"

#include <fmt/format.h>

#include <functional>

namespace stout::docstore {

std::string FormatETag(Stamp stamp) { return fmt::format("\"{}.{}\"", stamp.epoch, stamp.version); }

std::string FormatETag(Stamp stamp, std::string_view value) {
  if (stamp != Stamp()) return FormatETag(stamp);
  return fmt::format("\"hash.{:016x}\"", std::hash<std::string_view>{}(value));
}

}  // namespace stout::docstore
