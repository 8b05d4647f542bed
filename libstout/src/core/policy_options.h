#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stout/core/parse_number.h"
#include "stout/core/policy/basic.h"
#include "stout/core/types.h"

namespace stout::internal {

/// One option of a policy: its key in `name:key=value,key=value`, the member of the policy's
/// `Options` that holds it, its range and its meaning. A table of these options is enough to read
/// a policy, to name it and to document it:
///
///     const std::vector<PolicyOption<StoutOptions>> kTable = {
///         {"alpha", &StoutOptions::alpha, 0.001, 1, "share by which a back-off lengthens ..."},
///         {"floor", &StoutOptions::floor, 1us, 1s, "shortest interval"},
///         {"guard_idle", &StoutOptions::guard_idle, "no change by an idle lane"},
///         {"guards", {&StoutOptions::guard_idle, ...}, "all guards at once"}};
template <typename Options>
class PolicyOption {
 public:
  PolicyOption(std::string_view name, double Options::*member, double least, double most,
               std::string_view help)
      : name(name), help(help), kind_(Real{member, least, most}) {}
  PolicyOption(std::string_view name, Duration Options::*member, Duration least, Duration most,
               std::string_view help)
      : name(name), help(help), kind_(Time{member, least, most}) {}
  PolicyOption(std::string_view name, std::size_t Options::*member, std::size_t least,
               std::size_t most, std::string_view help)
      : name(name), help(help), kind_(Count{member, least, most}) {}
  PolicyOption(std::string_view name, bool Options::*member, std::string_view help)
      : name(name), help(help), kind_(Switch{member}) {}
  /// A shorthand that sets several switches and is never part of a name.
  PolicyOption(std::string_view name, std::vector<bool Options::*> members, std::string_view help)
      : name(name), help(help), kind_(Switches{std::move(members)}) {}

  std::string_view name;
  std::string_view help;

  /// Stores the value of `text` and returns true, or returns false if it is no value in range.
  bool Read(std::string_view text, Options& into) const {
    return std::visit([&](const auto& kind) { return kind.Read(text, into); }, kind_);
  }
  /// Returns the text that Read accepts; empty for a shorthand.
  [[nodiscard]] std::string Show(const Options& options) const {
    return std::visit([&](const auto& kind) { return kind.Show(options); }, kind_);
  }
  /// Returns the range as text: "0.001 ... 1".
  [[nodiscard]] std::string Range() const {
    return std::visit([&](const auto& kind) { return kind.Range(); }, kind_);
  }

 private:
  template <typename T>
  static bool ReadNumber(std::string_view text, T least, T most, T& into) {
    const auto value = ParseNumber<T>(text);
    if (!value || !(*value >= least && *value <= most)) return false;
    into = *value;
    return true;
  }

  template <typename T>
  struct Number {
    T Options::*member;
    T least;
    T most;
    bool Read(std::string_view text, Options& into) const {
      return ReadNumber(text, least, most, into.*member);
    }
    std::string Show(const Options& options) const { return fmt::format("{}", options.*member); }
    std::string Range() const { return fmt::format("{} ... {}", least, most); }
  };
  using Real = Number<double>;
  using Count = Number<std::size_t>;
  struct Time {
    Duration Options::*member;
    Duration least;
    Duration most;
    bool Read(std::string_view text, Options& into) const {
      const std::optional<Duration> value = ParseDuration(text);
      if (!value || *value < least || *value > most) return false;
      into.*member = *value;
      return true;
    }
    std::string Show(const Options& options) const { return FormatDuration(options.*member); }
    std::string Range() const {
      return fmt::format("{} ... {}", FormatDuration(least), FormatDuration(most));
    }
  };
  struct Switches {
    std::vector<bool Options::*> members;
    bool Read(std::string_view text, Options& into) const {
      if (text != "on" && text != "off") return false;
      for (const auto member : members) into.*member = text == "on";
      return true;
    }
    std::string Show(const Options&) const { return {}; }
    std::string Range() const { return "on, off"; }
  };
  struct Switch {
    bool Options::*member;
    bool Read(std::string_view text, Options& into) const {
      return Switches{{member}}.Read(text, into);
    }
    std::string Show(const Options& options) const { return options.*member ? "on" : "off"; }
    std::string Range() const { return "on, off"; }
  };

  std::variant<Real, Count, Time, Switch, Switches> kind_;
};

/// Reads "key=value,key=value" on top of the defaults. Returns nullopt if it is malformed; then
/// `error` names the option and the remedy. Later settings override earlier ones.
template <typename Options>
std::optional<Options> ReadPolicyOptions(std::span<const PolicyOption<Options>> table,
                                         std::string_view text, std::string& error) {
  Options options;
  while (true) {
    const std::string_view item = text.substr(0, text.find(','));
    const std::string_view name = item.substr(0, item.find('='));
    const auto option =
        std::find_if(table.begin(), table.end(), [&](const auto& o) { return o.name == name; });
    if (option == table.end()) {
      error = fmt::format("has no option '{}': use", name);
      for (const auto& each : table) error += fmt::format(" {}", each.name);
      return std::nullopt;
    }
    const std::string_view value = item.substr(std::min(item.size(), name.size() + 1));
    if (!option->Read(value, options)) {
      error = fmt::format("does not accept '{}' as {}: use {}", value, name, option->Range());
      return std::nullopt;
    }
    if (item.size() == text.size()) return options;
    text.remove_prefix(item.size() + 1);
  }
}

/// Returns `policy` with the options that differ from the defaults, for MakePolicy to read:
/// "stout:alpha=0.2".
template <typename Options>
std::string PolicyName(std::string_view policy, std::span<const PolicyOption<Options>> table,
                       const Options& options) {
  std::string name(policy);
  char separator = ':';
  for (const PolicyOption<Options>& option : table) {
    const std::string value = option.Show(options);
    if (value == option.Show(Options{})) continue;
    name += fmt::format("{}{}={}", separator, option.name, value);
    separator = ',';
  }
  return name;
}

/// Returns a line for each option: "alpha=0.05 (0.001 ... 1): meaning".
template <typename Options>
std::string DescribePolicyOptions(std::span<const PolicyOption<Options>> table) {
  std::string text;
  for (const PolicyOption<Options>& option : table) {
    const std::string value = option.Show(Options{});
    text += fmt::format("  {}{}{} ({}): {}\n", option.name, value.empty() ? "" : "=", value,
                        option.Range(), option.help);
  }
  return text;
}

}  // namespace stout::internal
