#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "program/address.h"
#include "program/service_config.h"

namespace stout::program {

inline constexpr std::size_t kMaxCount = 1'000'000'000;

/// Adds options that read into a variable, with the variable's value as the default in --help.
class Options {
 public:
  /// `app`, and the variables that the options are given, outlive the parsing.
  explicit Options(CLI::App& app) : app_(app) {}

  /// Under this heading stand the options that follow.
  void Group(std::string name) { group_ = std::move(name); }

  void Text(const std::string& name, std::string& value, const std::string& help,
            const std::string& type);
  /// 1 to `max`. A default of 0 is shown as "as many as threads".
  void Count(const std::string& name, std::size_t& value, std::size_t max, const std::string& help);
  /// "4096", "64KiB", "8MiB", "1GiB"; at least `min`.
  void Bytes(const std::string& name, std::size_t& value, std::size_t min, const std::string& help);
  /// "20ms", "1.5s"; above 0.
  void Time(const std::string& name, std::chrono::nanoseconds& value, const std::string& help);
  void Where(const std::string& name, Address& value, const std::string& help,
             const std::string& shown_default);
  /// Where and how it serves, ends and logs.
  void Service(ServiceConfig& config);

  /// `read` stores the text's meaning, and answers what is wrong with it, if something is.
  void Parsed(const std::string& name, const std::string& help, const std::string& type,
              const std::string& shown_default,
              std::function<std::string(const std::string&)> read);

 private:
  CLI::App& app_;
  std::string group_;
};

/// Reads the command line, and the file of --config, an option that it adds. `check` answers what
/// only the combination of options shows to be wrong, or nothing. Answers the exit code if the
/// program is to end now: after --help, or after an error, which has then been explained on stderr.
[[nodiscard]] std::optional<int> Parse(CLI::App& app, int argc, const char* const* argv,
                                       const std::function<std::string()>& check);

}  // namespace stout::program
