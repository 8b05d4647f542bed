#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stout/core/types.h"

namespace stout::bench {

/// A store to measure against, and what tables and files call it.
struct StoreChoice {
  std::string name;
  std::string url;
};

enum ExitCode : int { kOk = 0, kFailed = 1, kBadOptions = 2, kInterrupted = 130 };

/// The rest of a main(): executes what `parse()` has read from the command line, unless that is an
/// ExitCode already. Exceptions are reported to stderr, as the program's.
///
///     int main(int argc, char** argv) {
///       return RunCommand("my-bench", [&] { return Parse(argc, argv); }, Execute);
///     }
template <typename Parse, typename Execute>
ExitCode RunCommand(std::string_view program, Parse parse, Execute execute) {
  try {
    const auto parsed = parse();  // std::variant<what to execute, ExitCode>
    const auto* const exit_code = std::get_if<ExitCode>(&parsed);
    return exit_code != nullptr ? *exit_code : execute(std::get<0>(parsed));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", program, error.what());
    return kFailed;
  }
}

/// Reads the command line. Nothing if it can be executed; otherwise what the program ends with, for
/// the user has been told what is wrong, or what --help says. What app.callback() gets is called at
/// the end: it may refuse, with a CLI::ValidationError, what no option can see by itself.
[[nodiscard]] std::optional<ExitCode> ReadArguments(CLI::App& app, int argc,
                                                    const char* const* argv);

/// --json FILE, for the results.
void AddJson(CLI::App& app, std::string& file);

/// Reads `NAME=URL`, or a URL, which is named after its scheme, each; of names that would not do as
/// part of a file's name it complains to stderr, as `program`. False: it has.
[[nodiscard]] bool ReadStores(std::string_view program, const std::vector<std::string>& texts,
                              std::vector<StoreChoice>& stores);

/// An option whose text `parse` reads: it answers something to `take`, or nothing. Then it is said
/// that the text "is not SUCH AND SUCH", which is `wrong`.
template <typename Parse, typename Take>
CLI::Option* AddParsed(CLI::App& app, const std::string& flag, Parse parse, Take take,
                       const std::string& wrong, const std::string& help) {
  return app.add_option_function<std::string>(
      flag,
      [=](const std::string& text) {
        const auto parsed = parse(text);
        if (!parsed) throw CLI::ValidationError(flag, fmt::format("'{}' {}", text, wrong));
        take(*parsed);
      },
      help);
}

/// A positive duration with a unit.
void AddDuration(CLI::App& app, const std::string& flag, Duration& value, const std::string& help);

/// CLI::Range lets "nan" pass. Empty if all is well.
[[nodiscard]] std::string IsNumber(const std::string& text);

/// Numbers separated by commas.
template <typename Number>
void AddList(CLI::App& app, const std::string& flag, std::vector<Number>& list, double min,
             const std::string& help) {
  app.add_option(flag, list, help)
      ->delimiter(',')
      ->check(CLI::Range(min, 1e9, fmt::format("at least {}", min)))
      ->check(CLI::Validator(IsNumber, ""))
      ->type_name("N,...")
      ->capture_default_str();
}

}  // namespace stout::bench
