#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "program/exit_code.h"
#include "program/tell.h"

namespace stout::program {

/// Adds --version, and sets the layout of --help. Requires that `app` has the program's name.
void AddVersion(CLI::App& app);

/// Adds --config FILE: options from a TOML or JSON file. The command line wins.
void AddConfigFile(CLI::App& app);

/// Prints --help or --version to `out`, or the problem to `err`, without the secrets of URLs among
/// `arguments`. Returns kOk or kBadOptions.
ExitCode Explain(const CLI::App& app, const CLI::ParseError& error,
                 std::span<const char* const> arguments, std::ostream& out, std::ostream& err);

/// Returns the problem that only the combination of options shows, or "". It may also throw a
/// CLI::ValidationError, which names the option.
using CheckOptions = std::function<std::string()>;

/// Reads the command line, and adds --version. Returns nullopt if the program can run. Otherwise
/// the user has been told, and the program ends with this code: kOk or kBadOptions.
[[nodiscard]] std::optional<ExitCode> ReadArguments(CLI::App& app, int argc,
                                                    const char* const* argv,
                                                    const CheckOptions& check = {});

/// The body of a main(): executes what `parse()` has read from the command line, unless that is an
/// ExitCode already. Exceptions are reported on stderr, with the program's name.
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
    Tell(stderr, "{}: {}\n", program, error.what());
    return kFailed;
  }
}

}  // namespace stout::program
