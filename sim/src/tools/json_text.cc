#include "stout/sim/json_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace stout::sim {
namespace {

namespace json = boost::json;

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

}  // namespace stout::sim
