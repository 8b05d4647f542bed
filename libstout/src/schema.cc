#include "stout/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stout::inline v1 {

Schema::Schema() : Schema({"value"}, '\n') {}

Schema::Schema(std::vector<std::string> names, char delimiter)
    : names_(std::move(names)), delimiter_(delimiter) {}

Result<Schema> Schema::Make(std::vector<std::string> names, char delimiter,
                            Diagnostics* diagnostics) {
  const auto refused = [&](std::string why) {
    if (diagnostics) diagnostics->message = std::move(why);
    return Errc::kBadOptions;
  };
  if (names.empty()) return refused("a schema needs at least one attribute");
  if (names.size() > kMaxAttributes) {
    return refused(
        fmt::format("a schema has at most {} attributes, not {}", kMaxAttributes, names.size()));
  }
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (name->empty()) {
      return refused(fmt::format("attribute {} has no name", name - names.begin() + 1));
    }
    if (std::find(names.begin(), name, *name) != name) {
      return refused(fmt::format("two attributes are named '{}'", *name));
    }
  }
  return Schema(std::move(names), delimiter);
}

std::optional<std::size_t> Schema::Find(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) return std::nullopt;
  return found - names_.begin();
}

std::optional<std::string_view> Schema::Attribute(std::string_view value,
                                                  std::size_t attribute) const {
  const bool last = attribute + 1 == size();
  for (; attribute > 0; --attribute) {
    const std::size_t end = value.find(delimiter_);
    if (end == std::string_view::npos) return std::nullopt;
    value.remove_prefix(end + 1);
  }
  return last ? value : value.substr(0, value.find(delimiter_));
}

}  // namespace stout::inline v1
