#include "program/options.h"

#include <fmt/format.h>

#include <charconv>
#include <iostream>
#include <limits>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

#include "program/config_file.h"
#include "stout/adapters/store_url.h"
#include "stout/core/policy/basic.h"

namespace stout::program {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kMaxThreads = 1024;

// The whole of the text as a number.
std::optional<std::size_t> ParseCount(std::string_view text) {
  std::size_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || stop != end) return std::nullopt;
  return count;
}

std::optional<std::size_t> ParseBytes(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  constexpr std::pair<std::string_view, int> kUnits[] = {
      {"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
  for (const auto& [name, shift] : kUnits) {
    if (unit != name) continue;
    if (value > (std::numeric_limits<std::size_t>::max() >> shift)) return std::nullopt;
    return value << shift;
  }
  return std::nullopt;
}

std::string FormatBytes(std::size_t bytes) {
  constexpr std::pair<std::string_view, int> kUnits[] = {{"GiB", 30}, {"MiB", 20}, {"KiB", 10}};
  for (const auto& [name, shift] : kUnits) {
    if (bytes != 0 && bytes % (std::size_t{1} << shift) == 0) {
      return fmt::format("{}{}", bytes >> shift, name);
    }
  }
  return std::to_string(bytes);
}

}  // namespace

void Options::Text(const std::string& name, std::string& value, const std::string& help,
                   const std::string& type) {
  app_.add_option(name, value, help)->type_name(type)->capture_default_str()->group(group_);
}

void Options::Count(const std::string& name, std::size_t& value, std::size_t max,
                    const std::string& help) {
  Parsed(name, help, "COUNT", value == 0 ? "as many as threads" : std::to_string(value),
         [&value, max](const std::string& text) {
           const auto count = ParseCount(text);
           if (!count || *count < 1 || *count > max) {
             return fmt::format("'{}' is out of range: use 1 to {}", text, max);
           }
           value = *count;
           return std::string();
         });
}

void Options::Bytes(const std::string& name, std::size_t& value, std::size_t min,
                    const std::string& help) {
  Parsed(name, help, "BYTES", FormatBytes(value), [&value, min](const std::string& text) {
    const auto bytes = ParseBytes(text);
    if (!bytes || *bytes < min) {
      return fmt::format(
          "'{}' is not a size: use a number of at least {}, in bytes or with "
          "KiB, MiB or GiB, like 64KiB",
          text, min);
    }
    value = *bytes;
    return std::string();
  });
}

void Options::Time(const std::string& name, nanoseconds& value, const std::string& help) {
  Parsed(name, help, "TIME", FormatDuration(value), [&value](const std::string& text) {
    const auto duration = ParseDuration(text);
    if (!duration || *duration <= nanoseconds::zero()) {
      return fmt::format(
          "'{}' is not a time: use a number above 0 with ns, us, ms or s, like "
          "20ms",
          text);
    }
    value = *duration;
    return std::string();
  });
}

void Options::Where(const std::string& name, Address& value, const std::string& help,
                    const std::string& shown_default) {
  Parsed(name, help, "HOST:PORT", shown_default, [&value](const std::string& text) {
    auto address = ParseAddress(text);
    if (!address) {
      return fmt::format("'{}' is no address: use HOST:PORT, like 127.0.0.1:8080", text);
    }
    value = std::move(*address);
    return std::string();
  });
}

void Options::Service(ServiceConfig& config) {
  Where("--listen", config.listen, "Address to serve; port 0 takes a free one, printed on stdout",
        config.listen.Text());
  Count("--threads", config.threads, kMaxThreads, "Threads that serve requests");
  Time("--drain-timeout", config.drain_timeout,
       "Longest orderly end after SIGTERM or SIGINT; then, or at a second signal, the process ends "
       "at once with exit code 1");
  app_.add_option("--log-level", config.log_level, "What is logged on stderr")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"}))
      ->type_name("LEVEL")
      ->capture_default_str()
      ->group(group_);
}

void Options::Parsed(const std::string& name, const std::string& help, const std::string& type,
                     const std::string& shown_default,
                     std::function<std::string(const std::string&)> read) {
  const auto store = [name, read = std::move(read)](const CLI::results_t& texts) {
    if (const std::string wrong = read(texts.back()); !wrong.empty()) {
      throw CLI::ValidationError(name, wrong);
    }
    return true;
  };
  app_.add_option(name, store, help)->type_name(type)->default_str(shown_default)->group(group_);
}

std::optional<int> Parse(CLI::App& app, int argc, const char* const* argv,
                         const std::function<std::string()>& check) {
  app.get_formatter()->column_width(34);
  app.config_formatter(std::make_shared<ConfigFile>());
  app.set_config("--config", "", "Read options from a TOML or JSON file; the command line wins")
      ->type_name("FILE");
  app.allow_config_extras(false);
  try {
    app.parse(argc, argv);
    if (const std::string wrong = check(); !wrong.empty()) throw CLI::ValidationError(wrong);
  } catch (const CLI::ConfigError& error) {
    const std::string_view text = error.what();  // "INI was not able to parse NAME"
    std::cerr << fmt::format(
        "--config: there is no option '{}'; the file takes those of --help, without the dashes\n",
        text.substr(text.rfind(' ') + 1));
    return static_cast<int>(CLI::ExitCodes::ConfigError);
  } catch (const CLI::ParseError& error) {
    std::ostringstream why;
    const int code = app.exit(error, std::cout, why);
    std::cerr << RedactedMessage(why.str(), {argv, static_cast<std::size_t>(argc)});
    return code;
  }
  return std::nullopt;
}

}  // namespace stout::program
