#include "templates.h"

#include <fmt/format.h>

#include <array>
#include <sstream>
#include <string>
#include <utility>

#include "stout/adapters/read_file.h"

namespace stout::postgres {
namespace {

// A statement without what stands around it: blanks, and the semicolon at its end.
std::string_view Trim(std::string_view text) {
  constexpr std::string_view kAround = " \t\r\n;";
  const std::size_t first = text.find_first_not_of(kAround);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kAround) - first + 1);
}

}  // namespace

Result<PostgresTemplates> ParseTemplates(std::string_view text, std::string* error) {
  PostgresTemplates templates;
  const std::array<std::pair<std::string_view, std::string*>, 3> statements = {
      {{"upsert", &templates.upsert},
       {"remove", &templates.remove},
       {"select", &templates.select}}};
  std::string* statement = nullptr;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::string* begins = nullptr;
    for (const auto& [name, its] : statements) {
      if (Trim(line) == fmt::format("-- {}", name)) begins = its;
    }
    if (begins == nullptr) {
      if (statement != nullptr) statement->append(line) += '\n';
      continue;
    }
    if (!begins->empty()) {
      *error = fmt::format("'{}' appears twice", Trim(line));
      return Errc::kBadUrl;
    }
    statement = begins;
    *statement = "\n";  // no longer empty
  }
  for (const auto& [name, its] : statements) {
    *its = std::string(Trim(*its));
    if (!its->empty()) continue;
    *error = fmt::format("there is no statement '{0}': write it below a line '-- {0}'", name);
    return Errc::kBadUrl;
  }
  return templates;
}

Result<PostgresTemplates> ReadTemplates(const std::string& file, std::string* error) {
  const Result<std::string> text = ReadFile(file);
  if (!text) {
    *error = fmt::format("cannot read templates from {}: {}", file, text.error().message());
    return Errc::kBadUrl;
  }
  auto templates = ParseTemplates(*text, error);
  if (!templates) *error = fmt::format("{}: {}", file, *error);
  return templates;
}

}  // namespace stout::postgres
