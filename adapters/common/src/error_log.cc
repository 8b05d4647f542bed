#include "stout/adapters/error_log.h"

#include <fmt/format.h>

#include <utility>

namespace stout {

using std::chrono_literals::operator""min;

std::optional<std::string> ErrorLog::Line(std::string_view kind, std::string line, TimePoint now) {
  const std::string_view name = kinds_.size() < kMaxKinds ? kind : "other";
  const auto found = kinds_.contains(kind) ? kinds_.find(kind) : kinds_.find(name);
  if (found == kinds_.end()) {
    kinds_.emplace(name, Kind{now});
    return line;
  }
  if (now < found->second.logged + 1min) {
    ++found->second.left_out;
    return std::nullopt;
  }
  const std::size_t left_out = std::exchange(found->second, Kind{now}).left_out;
  if (left_out > 0) line += fmt::format(" ({} more like it)", left_out);
  return line;
}

}  // namespace stout
