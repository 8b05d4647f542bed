#pragma once

#include <fmt/format.h>
#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program/address.h"
#include "program/service_config.h"
#include "stout/core/types.h"

namespace stout::program {

inline constexpr std::uint64_t kMaxCount = 1'000'000'000;
inline constexpr std::uint64_t kNoMax = std::numeric_limits<std::uint64_t>::max();
/// Maximum of --lease-ttl and --handover-timeout, whose sum FitDrainTimeout needs.
inline constexpr Duration kMaxLeaseTime = std::chrono::hours(24);

/// "20ms", "1.5s", as ParseDuration. With `plain_seconds` also "30" and "0.5", which are seconds.
[[nodiscard]] std::optional<Duration> ParseTime(std::string_view text, bool plain_seconds = false);

/// Returns the number in [min, max] that the whole text is; nullopt otherwise, and for "nan".
[[nodiscard]] std::optional<double> ParseNumberIn(double min, double max, std::string_view text);

/// Returns the problem of an empty value, or "". It is often a shell variable that is not set, and
/// must not mean that the option is not given.
[[nodiscard]] std::string WhyEmpty(const std::string& text);

/// Accepts a number in [min, max], for options that take several. Unlike CLI::Range it refuses
/// "nan".
[[nodiscard]] CLI::Validator NumberIn(double min, double max);

/// Adds options in the dialect that all programs share: BYTES, TIME, HOST:PORT, COUNT and so on.
/// Each option reads into a variable, and --help shows the variable's value as the default.
///
/// Ranges are inclusive. A text outside its range is a CLI::ValidationError, which names the
/// option, the problem, the range and the remedy. An empty text is refused.
class Options {
 public:
  /// `app`, and the variables that the options read into, outlive the parsing.
  explicit Options(CLI::App& app) : app_(app) {}

  /// Shows the following options under this heading.
  void Group(std::string name) { group_ = std::move(name); }

  CLI::Option* Flag(const std::string& name, bool& value, const std::string& help);
  CLI::Option* Text(const std::string& name, std::string& value, const std::string& help,
                    const std::string& type);

  /// May be given several times: a text each.
  CLI::Option* Texts(const std::string& name, std::vector<std::string>& values,
                     const std::string& help, const std::string& type);

  /// One of the words, whose value is taken.
  template <typename T>
  CLI::Option* Choice(const std::string& name, T& value,
                      std::vector<std::pair<std::string, T>> words, const std::string& help) {
    std::string type;
    std::string shown_default;
    for (const auto& [word, meaning] : words) {
      type += (type.empty() ? "" : "|") + word;
      if (meaning == value) shown_default = word;
    }
    const auto find = [words = std::move(words)](const std::string& text) {
      const auto found = std::find_if(words.begin(), words.end(),
                                      [&](const auto& word) { return word.first == text; });
      return found == words.end() ? std::nullopt : std::optional(found->second);
    };
    return Read(name, help, type, shown_default, find, type,
                [&value](T meaning) { value = std::move(meaning); });
  }

  /// A whole number.
  template <typename N>
  CLI::Option* Count(const std::string& name, N& value, std::uint64_t min, std::uint64_t max,
                     const std::string& help) {
    return Counted(name, help, fmt::to_string(value), min, max,
                   [&value](std::uint64_t count) { value = static_cast<N>(count); });
  }
  /// The same without a default.
  template <typename N>
  CLI::Option* Count(const std::string& name, std::optional<N>& value, std::uint64_t min,
                     std::uint64_t max, const std::string& help) {
    return Counted(name, help, "", min, max,
                   [&value](std::uint64_t count) { value = static_cast<N>(count); });
  }
  CLI::Option* Seed(std::uint64_t& value, const std::string& help) {
    return Count("--seed", value, 0, kNoMax, help);
  }

  /// "4096", "64KiB", "8mb": see stout::ParseBytes.
  template <typename N>
  CLI::Option* Bytes(const std::string& name, N& value, std::uint64_t min, std::uint64_t max,
                     const std::string& help) {
    return Sized(name, help, value, min,
                 std::min<std::uint64_t>(max, std::numeric_limits<N>::max()),
                 [&value](std::uint64_t bytes) { value = static_cast<N>(bytes); });
  }
  template <typename N>
  CLI::Option* Bytes(const std::string& name, N& value, std::uint64_t min,
                     const std::string& help) {
    return Bytes(name, value, min, kNoMax, help);
  }

  /// "20ms", "1.5s"; above 0.
  CLI::Option* Time(const std::string& name, Duration& value, const std::string& help) {
    return Time(name, value, Duration(1), Duration::max(), help);
  }
  CLI::Option* Time(const std::string& name, Duration& value, Duration min, Duration max,
                    const std::string& help);
  /// The same, where a plain number is seconds.
  CLI::Option* Seconds(const std::string& name, Duration& value, Duration min, Duration max,
                       const std::string& help);

  /// A number such as 0.25.
  CLI::Option* Number(const std::string& name, double& value, double min, double max,
                      const std::string& help);

  /// Reads the address to listen at: ":8080" is every IPv4 address of the machine.
  CLI::Option* Listen(const std::string& name, Address& value, const std::string& help);
  /// Reads the address of a server.
  CLI::Option* Peer(const std::string& name, Address& value, const std::string& help);
  /// http://HOST:PORT
  CLI::Option* HttpUrl(const std::string& name, Address& value, const std::string& help);

  /// Reads --metrics, the address of the pages for operators. A port alone is every IPv4 address of
  /// the machine.
  CLI::Option* Metrics(std::optional<Address>& value, const std::string& help);

  /// A file, whose first line becomes `password`, without its line end (LF or CRLF).
  CLI::Option* PasswordFile(const std::string& name, std::string& password,
                            const std::string& help);
  /// --unix-socket and --unix-socket-mode.
  void UnixSocket(std::string& path, mode_t& mode);
  /// --tls-cert and --tls-key: both or neither.
  void Tls(std::string& certificate, std::string& key);
  CLI::Option* LogLevel(std::string& level);
  /// Adds the options for serving, ending and logging.
  void Service(ServiceConfig& config);

  /// `read` stores the text's meaning, and returns "" or the problem.
  CLI::Option* Parsed(const std::string& name, const std::string& help, const std::string& type,
                      const std::string& shown_default,
                      std::function<std::string(const std::string&)> read);

  /// `parse` returns the text's meaning, or nullopt if the text "is not EXPECTED".
  template <typename Parse, typename Take>
  CLI::Option* Read(const std::string& name, const std::string& help, const std::string& type,
                    const std::string& shown_default, Parse parse, const std::string& expected,
                    Take take) {
    return Parsed(name, help, type, shown_default,
                  [parse, expected, take](const std::string& text) {
                    auto parsed = parse(text);
                    if (!parsed) return fmt::format("'{}' is not {}", text, expected);
                    take(*std::move(parsed));
                    return std::string();
                  });
  }

 private:
  CLI::Option* Counted(const std::string& name, const std::string& help,
                       const std::string& shown_default, std::uint64_t min, std::uint64_t max,
                       std::function<void(std::uint64_t)> take);
  CLI::Option* Sized(const std::string& name, const std::string& help, std::uint64_t shown_default,
                     std::uint64_t min, std::uint64_t max, std::function<void(std::uint64_t)> take);
  CLI::Option* Timed(const std::string& name, Duration& value, Duration min, Duration max,
                     const std::string& help, bool plain_seconds);

  CLI::App& app_;
  std::string group_ = "Options";
};

/// Lengthens --drain-timeout for a server that hands over its ranges when it ends, unless the
/// option is given. Returns the problem if it is too short, or "". `farewell`: how long the server
/// still answers after that.
[[nodiscard]] std::string FitDrainTimeout(const CLI::App& app, Duration handover_timeout,
                                          Duration lease_ttl, Duration farewell,
                                          ServiceConfig& config);

}  // namespace stout::program
