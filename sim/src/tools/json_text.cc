#include "stout/sim/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace stout::sim {
namespace {

namespace json = boost::json;

std::string LineAndColumn(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("line {}, column {}", line, offset - start + 1);
}

/// Returns where a name begins that its object has had before; npos if there is none. Requires
/// valid JSON. Boost.JSON keeps the last value of such a name and does not report it.
std::size_t FindRepeatedName(std::string_view text) {
  std::vector<std::set<std::string_view>> names;  // of each object that is open
  std::string_view last;                          // text in quotes
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') names.emplace_back();
    if (text[i] == '}') names.pop_back();
    if (text[i] == ':' && !names.back().insert(last).second) {
      return static_cast<std::size_t>(last.data() - text.data());
    }
    if (text[i] != '"') continue;
    const std::size_t begin = ++i;
    while (text[i] != '"') i += text[i] == '\\' ? 2 : 1;
    last = text.substr(begin, i - begin);
  }
  return std::string_view::npos;
}

}  // namespace

Parsed<json::value> ParseJson(std::string_view text) {
  json::stream_parser parser;
  boost::system::error_code ec;
  const std::size_t parsed = parser.write_some(text.data(), text.size(), ec);
  const std::size_t rest = std::min(text.find_first_not_of(" \t\r\n", parsed), text.size());
  if (!ec && rest < text.size()) ec = json::error::extra_data;
  if (!ec) parser.finish(ec);
  if (!ec) {
    const std::size_t repeated = FindRepeatedName(text);
    if (repeated == text.npos) return parser.release();
    return TextError{fmt::format("{} of the JSON: \"{}\" appears twice in its object",
                                 LineAndColumn(text, repeated),
                                 text.substr(repeated, text.find('"', repeated) - repeated))};
  }
  return TextError{fmt::format("{} of the JSON: {}",
                               LineAndColumn(text, ec == json::error::extra_data ? rest : parsed),
                               ec.message())};
}

}  // namespace stout::sim
