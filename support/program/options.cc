#include "program/options.h"

#include <array>
#include <charconv>
#include <chrono>
#include <fstream>
#include <string_view>
#include <utility>

#include "stout/adapters/bytes.h"
#include "stout/core/parse_number.h"
#include "stout/core/policy/basic.h"

namespace stout::program {
namespace {

constexpr std::uint64_t kMaxThreads = 1024;

// "from 1 to 10", or "of at least 1" if nothing limits it.
template <typename Show, typename N>
std::string RangeText(Show show, N min, N max, N no_max) {
  return max == no_max ? fmt::format("of at least {}", show(min))
                       : fmt::format("from {} to {}", show(min), show(max));
}

// Returns the problem, or "".
std::string ReadPassword(const std::string& path, std::string& password) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  std::getline(file, line);
  if (!file && !file.eof()) {
    return fmt::format("cannot read '{}': check the path and its permissions", path);
  }
  if (line.ends_with('\r')) line.pop_back();
  if (line.empty()) {
    return fmt::format("the first line of '{}' is empty: write the password there", path);
  }
  password = std::move(line);
  return {};
}

}  // namespace

std::string WhyEmpty(const std::string& text) {
  return text.empty() ? "the value is empty: give one, or leave the option out" : "";
}

std::optional<double> ParseNumberIn(double min, double max, std::string_view text) {
  const auto number = internal::ParseNumber<double>(text);
  return number && *number >= min && *number <= max ? number : std::nullopt;
}

std::optional<Duration> ParseTime(std::string_view text, bool plain_seconds) {
  const bool plain = text.find_first_not_of("0123456789.eE+-") == text.npos;
  return ParseDuration(plain && plain_seconds ? std::string(text) + "s" : std::string(text));
}

CLI::Validator NumberIn(double min, double max) {
  const std::string range = fmt::format("from {} to {}", min, max);
  return {[=](const std::string& text) {
            return ParseNumberIn(min, max, text)
                       ? std::string()
                       : fmt::format("'{}' is not a number {}", text, range);
          },
          range};
}

CLI::Option* Options::Flag(const std::string& name, bool& value, const std::string& help) {
  return app_.add_flag(name, value, help)->group(group_);
}

CLI::Option* Options::Text(const std::string& name, std::string& value, const std::string& help,
                           const std::string& type) {
  return app_.add_option(name, value, help)
      ->type_name(type)
      ->capture_default_str()
      ->group(group_)
      ->check(WhyEmpty);
}

CLI::Option* Options::Texts(const std::string& name, std::vector<std::string>& values,
                            const std::string& help, const std::string& type) {
  return app_.add_option(name, values, help)
      ->type_name(type)
      ->allow_extra_args(false)
      ->group(group_)
      ->check(WhyEmpty);
}

CLI::Option* Options::Counted(const std::string& name, const std::string& help,
                              const std::string& shown_default, std::uint64_t min,
                              std::uint64_t max, std::function<void(std::uint64_t)> take) {
  return Read(
      name, help, "COUNT", shown_default,
      [min, max](const std::string& text) {
        const auto count = internal::ParseNumber<std::uint64_t>(text);
        return count && *count >= min && *count <= max ? count : std::nullopt;
      },
      "a whole number " + RangeText([](auto n) { return n; }, min, max, kNoMax), std::move(take));
}

CLI::Option* Options::Sized(const std::string& name, const std::string& help,
                            std::uint64_t shown_default, std::uint64_t min, std::uint64_t max,
                            std::function<void(std::uint64_t)> take) {
  return Read(
      name, help, "BYTES", FormatBytes(shown_default),
      [min, max](const std::string& text) {
        const auto bytes = ParseBytes(text);
        return bytes && *bytes >= min && *bytes <= max ? bytes : std::nullopt;
      },
      fmt::format("a size {}: write a number of bytes, or use KiB, MiB or GiB, like 64KiB",
                  RangeText(FormatBytes, min, max, kNoMax)),
      std::move(take));
}

CLI::Option* Options::Timed(const std::string& name, Duration& value, Duration min, Duration max,
                            const std::string& help, bool plain_seconds) {
  const std::string shown_default = value != Duration::zero() ? FormatDuration(value)
                                    : min == Duration::zero() ? "0s"
                                                              : "none";
  const std::string range = min == Duration(1) && max == Duration::max()
                                ? "above 0"
                                : RangeText(FormatDuration, min, max, Duration::max());
  return Read(
      name, help, "TIME", shown_default,
      [=](const std::string& text) {
        const auto time = ParseTime(text, plain_seconds);
        return time && *time >= min && *time <= max ? time : std::nullopt;
      },
      fmt::format("a time {}: write a number with ns, us, ms, s, min or h, like 20ms", range),
      [&value](Duration time) { value = time; });
}

CLI::Option* Options::Time(const std::string& name, Duration& value, Duration min, Duration max,
                           const std::string& help) {
  return Timed(name, value, min, max, help, false);
}

CLI::Option* Options::Seconds(const std::string& name, Duration& value, Duration min, Duration max,
                              const std::string& help) {
  return Timed(name, value, min, max, help, true);
}

CLI::Option* Options::Number(const std::string& name, double& value, double min, double max,
                             const std::string& help) {
  return Read(
      name, help, "NUMBER", fmt::to_string(value),
      [min, max](const std::string& text) { return ParseNumberIn(min, max, text); },
      fmt::format("a number from {} to {}", min, max), [&value](double number) { value = number; });
}

CLI::Option* Options::Listen(const std::string& name, Address& value, const std::string& help) {
  return Read(name, help, "HOST:PORT", value.Text(), ParseAddress, "HOST:PORT, like 127.0.0.1:8080",
              [&value](Address address) { value = std::move(address); });
}

CLI::Option* Options::Peer(const std::string& name, Address& value, const std::string& help) {
  return Read(name, help, "HOST:PORT", value.Text(), ParsePeer,
              "HOST:PORT, like db7:6480; write an IPv6 address in brackets, like [::1]:6480",
              [&value](Address address) { value = std::move(address); });
}

CLI::Option* Options::HttpUrl(const std::string& name, Address& value, const std::string& help) {
  return Read(name, help, "http://HOST:PORT", value.host.empty() ? "" : "http://" + value.Text(),
              ParseHttpUrl, "a URL like http://127.0.0.1:8080",
              [&value](Address address) { value = std::move(address); });
}

CLI::Option* Options::Metrics(std::optional<Address>& value, const std::string& help) {
  return Parsed("--metrics", help + "; by default there is none", "HOST:PORT", "",
                [&value](const std::string& text) {
                  const bool is_port = text.find(':') == std::string::npos;
                  value = ParseAddress(is_port ? ":" + text : text);
                  return value ? std::string()
                               : fmt::format("'{}' is not HOST:PORT, like 127.0.0.1:9100", text);
                });
}

CLI::Option* Options::PasswordFile(const std::string& name, std::string& password,
                                   const std::string& help) {
  return Parsed(name, help, "FILE", "",
                [&password](const std::string& path) { return ReadPassword(path, password); });
}

void Options::UnixSocket(std::string& path, mode_t& mode) {
  CLI::Option* const file =
      Text("--unix-socket", path,
           "A file by which clients of this machine reach the server beside --listen. They need no "
           "TLS",
           "FILE");
  Read(
      "--unix-socket-mode", "The mode of that file. Clients must be allowed to write to it", "MODE",
      fmt::format("{:04o}", mode),
      [](const std::string& text) -> std::optional<mode_t> {
        const char* const end = text.data() + text.size();
        mode_t bits = 0;
        const auto [stop, failed] = std::from_chars(text.data(), end, bits, 8);
        if (failed != std::errc() || stop != end || bits > 0777) return std::nullopt;
        return bits;
      },
      "a mode such as 0660", [&mode](mode_t bits) { mode = bits; })
      ->needs(file);
}

void Options::Tls(std::string& certificate, std::string& key) {
  CLI::Option* const first = Text(
      "--tls-cert", certificate,
      "A PEM file with the server's certificate, and then those of its issuers except the "
      "root; with it, clients of --listen must use TLS. After SIGHUP the server reads it again",
      "FILE");
  CLI::Option* const second =
      Text("--tls-key", key, "A PEM file with the private key of --tls-cert, without a pass phrase",
           "FILE");
  first->needs(second);
  second->needs(first);
}

CLI::Option* Options::LogLevel(std::string& level) {
  return Read(
      "--log-level",
      "Least severe messages that are logged on stderr: trace, debug, info, warning, error or off",
      "LEVEL", level,
      [](const std::string& text) {
        constexpr std::array kLevels = {"trace", "debug", "info", "warning",
                                        "warn",  "error", "err",  "off"};
        const bool known = std::find(kLevels.begin(), kLevels.end(), text) != kLevels.end();
        return known ? std::optional(text) : std::nullopt;
      },
      "trace, debug, info, warning, error or off",
      [&level](std::string text) { level = std::move(text); });
}

void Options::Service(ServiceConfig& config) {
  Listen("--listen", config.listen,
         "Address to serve; port 0 takes a free port, which is printed on stdout");
  Count("--threads", config.threads, 1, kMaxThreads, "Threads that serve requests");
  Time("--drain-timeout", config.drain_timeout,
       "Longest time for an orderly end after SIGTERM or SIGINT. After this time, or at a second "
       "signal, the "
       "process ends at once with exit code 1");
  LogLevel(config.log_level);
}

CLI::Option* Options::Parsed(const std::string& name, const std::string& help,
                             const std::string& type, const std::string& shown_default,
                             std::function<std::string(const std::string&)> read) {
  const auto store = [name, read = std::move(read)](const CLI::results_t& texts) {
    std::string wrong = WhyEmpty(texts.back());
    if (wrong.empty()) wrong = read(texts.back());
    if (!wrong.empty()) {
      throw CLI::ValidationError(name, wrong);
    }
    return true;
  };
  return app_.add_option(name, store, help)
      ->type_name(type)
      ->default_str(shown_default)
      ->group(group_);
}

std::string FitDrainTimeout(const CLI::App& app, Duration handover_timeout, Duration lease_ttl,
                            Duration farewell, ServiceConfig& config) {
  // A flush, a drain, and then the end of the lease if the lease service does not answer.
  const Duration longest = 2 * handover_timeout + lease_ttl + farewell;
  if (app.count("--drain-timeout") == 0) {
    config.drain_timeout = std::max(config.drain_timeout, longest + std::chrono::seconds(1));
  }
  if (config.drain_timeout > longest) return {};
  return fmt::format(
      "--drain-timeout must exceed {}, which is twice --handover-timeout, --lease-ttl and {}: "
      "raise the former or lower the latter",
      FormatDuration(longest), FormatDuration(farewell));
}

}  // namespace stout::program
