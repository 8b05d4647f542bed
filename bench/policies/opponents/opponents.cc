#include "policies/opponents/opponents.h"

#include <fmt/format.h>

#include <string>

#include "policies/opponents/datadog.h"
#include "policies/opponents/fdb.h"
#include "policies/opponents/gradient2.h"
#include "policies/opponents/kafka.h"
#include "policies/opponents/vegas.h"
#include "stout/core/parse_number.h"
#include "stout/core/policy/basic.h"

namespace stout::bench {

namespace {

constexpr std::string_view kSyntax = "fdb[:FRACTION] | datadog | kafka | vegas | gradient2";
constexpr std::string_view kFdbPrefix = "fdb:";

std::optional<Policy> MakeFdb(std::string_view fraction_text, std::string* error) {
  const auto fraction = internal::ParseNumber<double>(fraction_text);
  if (fraction && *fraction > 0 && *fraction <= 100) return Fdb{.fraction = *fraction};
  if (error != nullptr) {
    *error = fmt::format("policy fdb takes a share of the latency above 0, not '{}': use fdb:0.1",
                         fraction_text);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Policy> MakeOpponent(std::string_view text, std::string* error) {
  if (text == "fdb") return Fdb{};
  if (text == "datadog") return Datadog{};
  if (text == "kafka") return Kafka{};
  if (text == "vegas") return Vegas{};
  if (text == "gradient2") return Gradient2{};
  if (text.starts_with(kFdbPrefix)) return MakeFdb(text.substr(kFdbPrefix.size()), error);
  std::optional<Policy> policy = MakePolicy(text, error);
  if (!policy && error != nullptr) *error += fmt::format("; or of other systems: {}", kSyntax);
  return policy;
}

std::string_view OpponentSyntax() {
  static const std::string text = fmt::format("{} | {}", PolicySyntax(), kSyntax);
  return text;
}

}  // namespace stout::bench
