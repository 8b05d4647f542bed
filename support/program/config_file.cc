#include "program/config_file.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <sstream>
#include <string>
#include <utility>

namespace stout::program {
namespace {

namespace json = boost::json;

std::vector<CLI::ConfigItem> FromJson(const std::string& text) {
  boost::system::error_code ec;
  const json::value document = json::parse(text, ec);
  if (ec) throw CLI::FileError("is not valid JSON: " + ec.message());
  if (!document.is_object()) throw CLI::FileError("is not a JSON object");
  std::vector<CLI::ConfigItem> items;
  for (const auto& [name, value] : document.get_object()) {
    CLI::ConfigItem item;
    item.name = std::string(name);
    const auto add = [&item](const json::value& one) {
      if (one.is_object() || one.is_array() || one.is_null()) return false;
      item.inputs.push_back(one.is_string() ? std::string(one.get_string()) : json::serialize(one));
      return true;
    };
    const json::array* const several = value.if_array();
    const bool valid = several == nullptr ? add(value)
                                          : !several->empty() &&
                                                std::all_of(several->begin(), several->end(), add);
    if (!valid) {
      throw CLI::FileError("has a wrong value of '" + item.name +
                           "': write a string, a number, true or false, or an array of these");
    }
    items.push_back(std::move(item));
  }
  return items;
}

// Throws if the file opens but cannot be read. CLI11 would take it for an empty one.
std::string ReadAll(std::istream& input) {
  std::string text;
  std::array<char, 1 << 12> part;
  do {
    input.read(part.data(), part.size());
    text.append(part.data(), static_cast<std::size_t>(input.gcount()));
  } while (input);
  if (input.bad()) throw CLI::FileError("cannot be read");
  return text;
}

}  // namespace

std::vector<CLI::ConfigItem> ConfigFile::from_config(std::istream& input) const {
  const std::string text = ReadAll(input);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != text.npos && text[first] == '{') return FromJson(text);
  std::istringstream toml(text);
  return CLI::ConfigTOML::from_config(toml);
}

}  // namespace stout::program
