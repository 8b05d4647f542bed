#include "report/json_text.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace stout::report {
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

}  // namespace

std::string JsonText(const json::value& value, int open_levels) {
  return Lines(value, 0, 0, open_levels) + "\n";
}

}  // namespace stout::report
