#include "load/command_line.h"

#include <algorithm>
#include <cctype>
#include <iostream>
#include <sstream>

#include "stout/adapters/store_url.h"
#include "stout/core/policy/basic.h"

namespace stout::bench {
namespace {

/// `name=url`, or a URL, which is named after its scheme. Nothing if the name would not do as part
/// of a file's name.
std::optional<StoreChoice> ParseStore(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::size_t colon = text.find(':');
  const StoreChoice store = equals < colon
                                ? StoreChoice{text.substr(0, equals), text.substr(equals + 1)}
                                : StoreChoice{text.substr(0, colon), text};
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789_";
  const bool named = !store.name.empty() && store.name.find_first_not_of(kAllowed) == text.npos;
  return named ? std::optional(store) : std::nullopt;
}

}  // namespace

std::optional<ExitCode> ReadArguments(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream why;
    const int code = app.exit(error, std::cout, why);
    std::cerr << RedactedMessage(why.str(), {argv, static_cast<std::size_t>(argc)});
    return code == 0 ? kOk : kBadOptions;
  }
  return std::nullopt;
}

void AddJson(CLI::App& app, std::string& file) {
  app.add_option("--json", file, "Write the results here; - is the standard output")
      ->type_name("FILE")
      ->capture_default_str();
}

bool ReadStores(std::string_view program, const std::vector<std::string>& texts,
                std::vector<StoreChoice>& stores) {
  for (const std::string& text : texts) {
    const std::optional<StoreChoice> store = ParseStore(text);
    if (!store) {
      fmt::print(stderr, "{}: '{}': write NAME=URL, the name in a-z, 0-9 and _\n", program,
                 Redacted(text));
      return false;
    }
    stores.push_back(*store);
  }
  return true;
}

void AddDuration(CLI::App& app, const std::string& flag, Duration& value, const std::string& help) {
  const auto positive = [](const std::string& text) {
    const std::optional<Duration> parsed = ParseDuration(text);
    return parsed && *parsed > Duration::zero() ? parsed : std::nullopt;
  };
  AddParsed(
      app, flag, positive, [&value](Duration parsed) { value = parsed; },
      "is not a duration such as 600ms or 2s", help)
      ->type_name("DURATION")
      ->default_str(value > Duration::zero() ? FormatDuration(value) : "none");
}

std::string IsNumber(const std::string& text) {
  const auto is_letter = [](unsigned char c) {
    return std::isalpha(c) != 0 && c != 'e' && c != 'E';
  };
  return std::any_of(text.begin(), text.end(), is_letter) ? fmt::format("'{}' is no number", text)
                                                          : std::string();
}

}  // namespace stout::bench
