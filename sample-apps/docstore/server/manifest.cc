#include "server/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace stout::docstore::manifest {
namespace {

// Returns true if the line is that of the section.
bool Names(std::string_view line, std::string_view section) {
  return line.starts_with(section) &&
         (line.size() == section.size() || line[section.size()] == ' ');
}

// The position of the section's line; npos if there is none. It runs for every write of a section,
// over lists that are mostly short.
std::size_t Find(std::string_view manifest, std::string_view section) {
  std::size_t line = 0;
  while (line < manifest.size()) {
    const std::size_t end = manifest.find('\n', line);
    if (Names(manifest.substr(line, end - line), section)) return line;
    if (end == std::string_view::npos) break;
    line = end + 1;
  }
  return std::string_view::npos;
}

// Reads EPOCH.VERSION at the start of the text.
Stamp ParseStamp(std::string_view text) {
  Stamp stamp;
  const char* const end = text.data() + text.size();
  const char* const dot = std::from_chars(text.data(), end, stamp.epoch).ptr;
  if (dot != end) std::from_chars(dot + 1, end, stamp.version);
  return stamp;
}

}  // namespace

bool Contains(std::string_view manifest, std::string_view section) {
  return Find(manifest, section) != std::string_view::npos;
}

bool Shows(std::string_view manifest, std::string_view section, Stamp stamp) {
  const std::size_t line = Find(manifest, section);
  if (line == std::string_view::npos) return false;
  if (stamp == Stamp()) return true;
  const std::string_view rest = manifest.substr(line + section.size());
  return !rest.starts_with(' ') || stamp >= ParseStamp(rest.substr(1));
}

std::string With(std::string_view manifest, std::string_view section, Stamp created) {
  return fmt::format("{}{} {}.{}\n", manifest, section, created.epoch, created.version);
}

std::string Without(std::string_view manifest, std::string_view section) {
  const std::size_t line = Find(manifest, section);
  std::string rest(manifest.substr(0, line));
  rest += manifest.substr(manifest.find('\n', line) + 1);
  return rest;
}

std::vector<std::string_view> Sections(std::string_view manifest) {
  std::vector<std::string_view> sections;
  while (!manifest.empty()) {
    const std::size_t end = manifest.find('\n');
    const std::string_view line = manifest.substr(0, end);
    sections.push_back(line.substr(0, line.find(' ')));
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
