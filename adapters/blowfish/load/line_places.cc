#include "blowfish/load/line_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace stout::blowfish {

void LinePlaces::BeginFile(std::string name, std::uint64_t before) {
  files_.push_back({std::move(name), before});
}

std::string LinePlaces::Describe(std::uint64_t line) const {
  const auto behind = std::partition_point(files_.begin(), files_.end(),
                                           [&](const File& file) { return file.before < line; });
  const File& file = *std::prev(behind);
  return fmt::format("{}:{}", file.name, line - file.before);
}

}  // namespace stout::blowfish
