#include "load/command_line.h"

#include <optional>

#include "stout/adapters/store_url.h"

namespace stout::bench {
namespace {

/// Reads `name=url`, or a URL, which gets the name of its scheme. Returns nullopt if the name does
/// not suit a file name.
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

void AddJson(CLI::App& app, std::string& file) {
  app.add_option("--json", file, "Write the results to this file; - is stdout")
      ->type_name("FILE")
      ->capture_default_str();
}

bool ReadStores(std::string_view program, const std::vector<std::string>& texts,
                std::vector<StoreChoice>& stores) {
  for (const std::string& text : texts) {
    const std::optional<StoreChoice> store = ParseStore(text);
    if (!store) {
      fmt::print(stderr, "{}: '{}' is not NAME=URL with a name of a-z, 0-9 and _\n", program,
                 Redacted(text));
      return false;
    }
    stores.push_back(*store);
  }
  return true;
}

}  // namespace stout::bench
