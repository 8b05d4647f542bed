#include "blowfish/server/commands/search_options.h"

#include <string_view>

#include "resp/server/command_errors.h"
#include "resp/server/integer.h"

namespace stout::blowfish {
namespace {

using resp::Options;

// LIMIT and COUNT, which SEARCH and GREP have in common; an error if it is neither.
std::optional<std::string_view> TakeLimitOrCount(Options& options, SearchOptions& parsed) {
  if (options.Take("COUNT")) {
    parsed.count = true;
    return std::nullopt;
  }
  const auto limit = options.TakeValueOf("LIMIT");
  if (!limit) return resp::kSyntaxError;
  const auto number = resp::ParseInteger(*limit);
  if (!number) return resp::kNotAnInteger;
  if (*number < 0) return resp::kNotPositive;
  parsed.limit = static_cast<std::uint64_t>(*number);
  return std::nullopt;
}

}  // namespace

resp::Parsed<SearchOptions> ParseSearchOptions(resp::Arguments arguments) {
  SearchOptions parsed;
  for (Options options(arguments, 3); !options.empty();) {
    if (options.Take("PREFIX")) {
      parsed.prefix = true;
    } else if (const auto error = TakeLimitOrCount(options, parsed)) {
      return *error;
    }
  }
  return parsed;
}

resp::Parsed<SearchOptions> ParseGrepOptions(resp::Arguments arguments) {
  SearchOptions parsed;
  for (Options options(arguments, 2); !options.empty();) {
    if (const auto error = TakeLimitOrCount(options, parsed)) return *error;
  }
  return parsed;
}

}  // namespace stout::blowfish
