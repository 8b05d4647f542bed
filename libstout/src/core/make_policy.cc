#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "stout/core/parse_number.h"
#include "stout/core/policy/adaptive.h"
#include "stout/core/policy/basic.h"
#include "stout/core/policy/stout.h"

// All policies that are chosen by name. A new policy needs a line in kMakers, its syntax in
// PolicySyntax and, if it has options, its description in PolicyOptions.

namespace stout::inline v1 {
namespace {

// Reads the text after the name and a colon, if there is one. Returns nullopt and sets `error` if
// the text is malformed. The error follows the policy's name: "policy fixed " + "takes ...".
using Maker = std::optional<Policy> (*)(std::optional<std::string_view> arguments,
                                        std::string& error);

// Makes a policy whose only argument is a time.
template <typename P>
std::optional<Policy> MakeOfTime(std::optional<std::string_view> text, std::string& error,
                                 const P& example) {
  const std::optional<Duration> time = ParseDuration(text.value_or(""));
  if (time && *time > Duration::zero()) return P{*time};
  error =
      fmt::format("takes a time above zero, not '{}': use {}", text.value_or(""), example.Name());
  return std::nullopt;
}

std::optional<Policy> MakeUnbatched(std::optional<std::string_view> arguments, std::string& error) {
  if (!arguments) return Unbatched{};
  error = "takes no argument: leave out the colon and the text after it";
  return std::nullopt;
}

std::optional<Policy> MakeFixed(std::optional<std::string_view> arguments, std::string& error) {
  return MakeOfTime(arguments, error, Fixed{});
}

std::optional<Policy> MakeTick(std::optional<std::string_view> arguments, std::string& error) {
  return MakeOfTime(arguments, error, Tick{});
}

std::optional<Policy> MakeGap(std::optional<std::string_view> arguments, std::string& error) {
  return MakeOfTime(arguments, error, Gap{});
}

std::optional<Policy> MakeNatural(std::optional<std::string_view> arguments, std::string& error) {
  constexpr std::size_t kMaxWindow = 1'000'000;
  if (!arguments) return Natural{};
  const auto window = internal::ParseNumber<std::size_t>(*arguments);
  if (window && *window >= 1 && *window <= kMaxWindow) return Natural{*window};
  error =
      fmt::format("takes a window from 1 to {}, not '{}': use natural:4", kMaxWindow, *arguments);
  return std::nullopt;
}

std::optional<Policy> MakeStout(std::optional<std::string_view> arguments, std::string& error) {
  if (!arguments) return Stout{};
  const std::optional<StoutOptions> options = ReadStoutOptions(*arguments, error);
  if (!options) return std::nullopt;
  return Stout(*options);
}

std::optional<Policy> MakeAdaptive(std::optional<std::string_view> arguments, std::string& error) {
  if (!arguments) return Adaptive{};
  const std::optional<AdaptiveOptions> options = ReadAdaptiveOptions(*arguments, error);
  if (!options) return std::nullopt;
  return Adaptive(*options);
}

struct Named {
  std::string_view name;
  Maker make;
};

constexpr Named kMakers[] = {
    {"unbatched", MakeUnbatched}, {"fixed", MakeFixed},
    {"tick", MakeTick},           {"gap", MakeGap},
    {"natural", MakeNatural},     {"stout", MakeStout},
    {"adaptive", MakeAdaptive},
};

}  // namespace

std::optional<Policy> MakePolicy(std::string_view text, std::string* error) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  std::optional<std::string_view> arguments;
  if (colon != std::string_view::npos) arguments = text.substr(colon + 1);

  std::string trouble;
  for (const Named& maker : kMakers) {
    if (maker.name != name) continue;
    std::optional<Policy> policy = maker.make(arguments, trouble);
    if (!policy && error != nullptr) *error = fmt::format("policy {} {}", name, trouble);
    return policy;
  }
  if (error != nullptr) *error = fmt::format("'{}' is not a policy: use {}", text, PolicySyntax());
  return std::nullopt;
}

std::string_view PolicySyntax() {
  return "unbatched | fixed:INTERVAL | tick:INTERVAL | gap:PAUSE | natural[:WINDOW] | "
         "stout[:OPTION=VALUE,...] | adaptive[:OPTION=VALUE,...]";
}

std::string PolicyOptions() {
  return "Options of stout:\n" + DescribeStoutOptions() + "Options of adaptive:\n" +
         DescribeAdaptiveOptions();
}

}  // namespace stout::inline v1
