#include "resp/server/command_options.h"

#include <limits>

#include "resp/server/ascii.h"
#include "resp/server/command_errors.h"
#include "resp/server/integer.h"

namespace stout::resp {
namespace {

constexpr std::string_view kBadSetTime = "ERR invalid expire time in 'set' command";
constexpr std::string_view kBadGetexTime = "ERR invalid expire time in 'getex' command";
constexpr std::string_view kBadCursor = "ERR invalid cursor";

// The options of SET and GETEX that say when.
struct ExpiryOption {
  std::string_view name;
  Expiry::From from;
  std::int64_t milliseconds;  // In its unit.
};

constexpr ExpiryOption kExpiryOptions[] = {
    {"EX", Expiry::From::kNow, 1000},
    {"PX", Expiry::From::kNow, 1},
    {"EXAT", Expiry::From::kEpoch, 1000},
    {"PXAT", Expiry::From::kEpoch, 1},
};

struct GivenExpiry {
  const ExpiryOption* option;
  std::string_view value;
};

std::optional<GivenExpiry> TakeExpiry(Options& options) {
  for (const ExpiryOption& option : kExpiryOptions) {
    if (const auto value = options.TakeValueOf(option.name)) return GivenExpiry{&option, *value};
  }
  return std::nullopt;
}

// Takes the next option if it says when. Returns false if it does not, or another one did before.
bool Take(Options& options, std::optional<GivenExpiry>& given) {
  const auto next = TakeExpiry(options);
  if (!next || (given && given->option != next->option)) return false;
  given = next;
  return true;
}

Parsed<Expiry> Check(const GivenExpiry& given, std::string_view bad_time) {
  return ParseExpiry(given.value, given.option->from, given.option->milliseconds, bad_time);
}

}  // namespace

bool Options::Take(std::string_view word) {
  if (!EqualIgnoringCase(left_.front(), word)) return false;
  left_ = left_.subspan(1);
  return true;
}

std::optional<std::string_view> Options::TakeValueOf(std::string_view word) {
  if (left_.size() < 2 || !Take(word)) return std::nullopt;
  const std::string_view value = left_.front();
  left_ = left_.subspan(1);
  return value;
}

Parsed<SetOptions> ParseSetOptions(std::span<const std::string_view> arguments) {
  using Condition = SetOptions::Condition;
  SetOptions parsed;
  std::optional<GivenExpiry> given;
  for (Options options(arguments, 3); !options.empty();) {
    if (parsed.condition != Condition::kIfPresent && options.Take("NX")) {
      parsed.condition = Condition::kIfAbsent;
    } else if (parsed.condition != Condition::kIfAbsent && options.Take("XX")) {
      parsed.condition = Condition::kIfPresent;
    } else if (options.Take("GET")) {
      parsed.get = true;
    } else if (!given && options.Take("KEEPTTL")) {
      parsed.keep_ttl = true;
    } else if (parsed.keep_ttl || !Take(options, given)) {
      return kSyntaxError;
    }
  }
  // The syntax of the whole comes first.
  if (given) {
    const auto expiry = Check(*given, kBadSetTime);
    if (!expiry) return expiry.error();
    parsed.expiry = *expiry;
  }
  return parsed;
}

Parsed<GetexOptions> ParseGetexOptions(std::span<const std::string_view> arguments) {
  GetexOptions parsed;
  std::optional<GivenExpiry> given;
  for (Options options(arguments, 2); !options.empty();) {
    if (!given && options.Take("PERSIST")) {
      parsed.persist = true;
    } else if (parsed.persist || !Take(options, given)) {
      return kSyntaxError;
    }
  }
  if (given) {
    const auto expiry = Check(*given, kBadGetexTime);
    if (!expiry) return expiry.error();
    parsed.expiry = *expiry;
  }
  return parsed;
}

Parsed<Expiry> ParseExpiry(std::string_view time, Expiry::From from, std::int64_t unit,
                           std::string_view bad_time) {
  const auto number = ParseInteger(time);
  if (!number) return kNotAnInteger;
  if (*number <= 0 || *number > std::numeric_limits<std::int64_t>::max() / unit) return bad_time;
  return Expiry{from, *number * unit};
}

Parsed<ScanOptions> ParseScanOptions(std::span<const std::string_view> arguments) {
  ScanOptions parsed;
  const auto cursor = ParseUnsigned(arguments[1]);
  if (!cursor) return kBadCursor;
  parsed.cursor = *cursor;
  for (Options options(arguments, 2); !options.empty();) {
    if (const auto count = options.TakeValueOf("COUNT")) {
      const auto number = ParseInteger(*count);
      if (!number) return kNotAnInteger;
      if (*number < 1) return kSyntaxError;
      parsed.count = *number;
    } else if (const auto pattern = options.TakeValueOf("MATCH")) {
      parsed.match = *pattern;
    } else if (const auto type = options.TakeValueOf("TYPE")) {
      parsed.type = *type;
    } else {
      return kSyntaxError;
    }
  }
  return parsed;
}

}  // namespace stout::resp
