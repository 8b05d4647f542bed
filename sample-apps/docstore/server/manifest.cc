#include "server/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace stout::docstore::manifest {
namespace {

// The position of the line that is `section`; npos if there is none. It runs for every write of a
// section, over lists that are mostly short.
std::size_t Find(std::string_view manifest, std::string_view section) {
  std::size_t line = 0;
  while (line < manifest.size()) {
    const std::size_t end = manifest.find('\n', line);
    if (manifest.substr(line, end - line) == section) return line;
    if (end == std::string_view::npos) break;
    line = end + 1;
  }
  return std::string_view::npos;
}

}  // namespace

bool Contains(std::string_view manifest, std::string_view section) {
  return Find(manifest, section) != std::string_view::npos;
}

std::string With(std::string_view manifest, std::string_view section) {
  return fmt::format("{}{}\n", manifest, section);
}

std::string Without(std::string_view manifest, std::string_view section) {
  const std::size_t line = Find(manifest, section);
  std::string rest(manifest.substr(0, line));
  rest += manifest.substr(line + section.size() + 1);
  return rest;
}

std::vector<std::string_view> Sections(std::string_view manifest) {
  std::vector<std::string_view> sections;
  while (!manifest.empty()) {
    const std::size_t end = manifest.find('\n');
    sections.push_back(manifest.substr(0, end));
    if (end == std::string_view::npos) break;
    manifest.remove_prefix(end + 1);
  }
  return sections;
}

std::size_t Count(std::string_view manifest) {
  return static_cast<std::size_t>(std::count(manifest.begin(), manifest.end(), '\n'));
}

std::string ToJson(std::string_view document, std::string_view manifest) {
  std::string json = fmt::format(R"({{"document":"{}","sections":[)", document);
  const char* separator = "";
  for (const std::string_view section : Sections(manifest)) {
    fmt::format_to(std::back_inserter(json), "{}\"{}\"", separator, section);
    separator = ",";
  }
  json += "]}\n";
  return json;
}

}  // namespace stout::docstore::manifest
