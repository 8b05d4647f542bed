#include "stout/sim/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stout::sim {
namespace {

namespace json = boost::json;

constexpr std::size_t kColumns = 100;

std::string Quoted(std::string_view text) { return json::serialize(json::string(text)); }

/// Everything on one line, however long.
std::string OneLine(const json::value& value) {
  const auto join = [](const auto& items, char open, char close, auto&& write) {
    std::string text(1, open);
    for (const auto& item : items) {
      if (text.size() > 1) text += ", ";
      text += write(item);
    }
    return text + close;
  };
  switch (value.kind()) {
    case json::kind::object:
      return join(value.get_object(), '{', '}', [](const auto& member) {
        return Quoted(member.key()) + ": " + OneLine(member.value());
      });
    case json::kind::array:
      return join(value.get_array(), '[', ']', OneLine);
    case json::kind::double_:
      return std::isfinite(value.get_double()) ? fmt::format("{}", value.get_double()) : "null";
    default:
      return json::serialize(value);
  }
}

/// Begins in column `column` (what stands before on the line) of a block indented by `indent`.
std::string Lines(const json::value& value, std::size_t indent, std::size_t column,
                  int open_levels) {
  std::string line = OneLine(value);
  const bool fits = column + line.size() + 1 <= kColumns;  // 1: a comma
  if (open_levels <= 0 || fits || !value.is_structured()) return line;
  const std::string margin(indent + 2, ' ');
  std::string text(1, line.front());
  const auto add = [&](const std::string& name, const json::value& item) {
    text += text.size() > 1 ? ",\n" : "\n";
    text += margin + name + Lines(item, indent + 2, margin.size() + name.size(), open_levels - 1);
  };
  if (value.is_object()) {
    for (const auto& member : value.get_object()) {
      add(Quoted(member.key()) + ": ", member.value());
    }
  } else {
    for (const json::value& item : value.get_array()) add("", item);
  }
  return text + "\n" + std::string(indent, ' ') + line.back();
}

std::string LineAndColumn(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("line {}, column {}", line, offset - start + 1);
}

}  // namespace

Parsed<json::value> ParseJson(std::string_view text) {
  json::stream_parser parser;
  boost::system::error_code ec;
  const std::size_t parsed = parser.write_some(text.data(), text.size(), ec);
  const std::size_t rest = std::min(text.find_first_not_of(" \t\r\n", parsed), text.size());
  if (!ec && rest < text.size()) ec = json::error::extra_data;
  if (!ec) parser.finish(ec);
  if (!ec) return parser.release();
  return TextError{fmt::format("{} of the JSON: {}",
                               LineAndColumn(text, ec == json::error::extra_data ? rest : parsed),
                               ec.message())};
}

std::string JsonText(const json::value& value, int open_levels) {
  return Lines(value, 0, 0, open_levels) + "\n";
}

}  // namespace stout::sim
