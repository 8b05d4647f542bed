#include "program/config_file.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <iterator>
#include <string>

namespace stout::program {
namespace {

namespace json = boost::json;

std::vector<CLI::ConfigItem> FromJson(const std::string& text) {
  boost::system::error_code ec;
  const json::value document = json::parse(text, ec);
  if (ec) throw CLI::FileError("the configuration file is not valid JSON: " + ec.message());
  if (!document.is_object()) throw CLI::FileError("the configuration file is not a JSON object");
  std::vector<CLI::ConfigItem> items;
  for (const auto& [name, value] : document.get_object()) {
    if (value.is_object() || value.is_array() || value.is_null()) {
      throw CLI::FileError("in the configuration file, " + std::string(name) +
                           " must be a string, a number, true or false");
    }
    CLI::ConfigItem item;
    item.name = std::string(name);
    item.inputs = {value.is_string() ? std::string(value.get_string()) : json::serialize(value)};
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace

std::vector<CLI::ConfigItem> ConfigFile::from_config(std::istream& input) const {
  input >> std::ws;
  if (input.peek() != '{') return CLI::ConfigTOML::from_config(input);
  return FromJson({std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()});
}

}  // namespace stout::program
