#include "resp/server/search_options.h"

#include "resp/server/command_errors.h"
#include "resp/server/integer.h"

namespace stout::resp {
namespace {

constexpr std::string_view kLimitTooLarge = "ERR LIMIT must be at most 1000000";
static_assert(kMaxFound == 1'000'000);
constexpr std::string_view kNoHashTag = "ERR a hash tag is not empty and has no '}'";

// Takes an option that SEARCH and GREP have in common. Returns an error if there is none.
std::optional<std::string_view> TakeCommon(Options& options, SearchOptions& parsed) {
  if (options.Take("COUNT")) {
    parsed.count = true;
    return std::nullopt;
  }
  if (const auto tag = options.TakeValueOf("HASHTAG")) {
    if (tag->empty() || tag->find('}') != std::string_view::npos) return kNoHashTag;
    parsed.hash_tag = tag;
    return std::nullopt;
  }
  const auto limit = options.TakeValueOf("LIMIT");
  if (!limit) return kSyntaxError;
  const auto number = ParseInteger(*limit);
  if (!number) return kNotAnInteger;
  if (*number < 0) return kNotPositive;
  parsed.limit = static_cast<std::uint64_t>(*number);
  if (*parsed.limit > kMaxFound) return kLimitTooLarge;
  return std::nullopt;
}

}  // namespace

Parsed<SearchOptions> ParseSearchOptions(Arguments arguments) {
  SearchOptions parsed;
  for (Options options(arguments, 3); !options.empty();) {
    if (options.Take("PREFIX")) {
      parsed.prefix = true;
    } else if (const auto error = TakeCommon(options, parsed)) {
      return *error;
    }
  }
  return parsed;
}

Parsed<SearchOptions> ParseGrepOptions(Arguments arguments) {
  SearchOptions parsed;
  for (Options options(arguments, 2); !options.empty();) {
    if (const auto error = TakeCommon(options, parsed)) return *error;
  }
  return parsed;
}

}  // namespace stout::resp
