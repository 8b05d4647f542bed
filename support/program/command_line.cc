#include "program/command_line.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <memory>
#include <sstream>

#include "program/config_file.h"
#include "program/options.h"
#include "stout/adapters/store_url.h"
#include "stout/version.h"

namespace stout::program {
namespace {

// Writes "--bytes BYTES=8MiB" with every CLI11. Newer ones write " [8MiB] " in place of "=8MiB".
class Formatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    const std::string bracketed = " [" + option->get_default_str() + "] ";
    if (const auto at = text.find(bracketed); at != text.npos) {
      text.replace(at, bracketed.size(), "=" + option->get_default_str());
    }
    return text;
  }
};

// CLI11 would say only that the file is missing.
std::string WhyUnreadable(const std::string& path) {
  if (path.empty()) return WhyEmpty(path);
  if (CLI::detail::check_path(path.c_str()) == CLI::detail::path_type::directory) {
    return fmt::format("'{}' is a directory", path);
  }
  if (::access(path.c_str(), R_OK) == 0) return "";
  return fmt::format("'{}' cannot be read: {}", path, std::strerror(errno));
}

}  // namespace

void AddVersion(CLI::App& app) {
  const auto formatter = std::make_shared<Formatter>();
  formatter->column_width(34);
  app.formatter(formatter);
  for (CLI::App* command : app.get_subcommands({})) command->formatter(formatter);
  app.set_version_flag("--version", fmt::format("{} {}", app.get_name(), STOUT_VERSION),
                       "Print the version and end");
}

void AddConfigFile(CLI::App& app) {
  app.config_formatter(std::make_shared<ConfigFile>());
  app.set_config("--config", "", "Read options from a TOML or JSON file; the command line wins")
      ->type_name("FILE")
      ->check(WhyUnreadable);
  app.allow_config_extras(false);
}

ExitCode Explain(const CLI::App& app, const CLI::ParseError& error,
                 std::span<const char* const> arguments, std::ostream& out, std::ostream& err) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ConfigError)) {
    const std::string_view text = error.what();  // "INI was not able to parse NAME"
    err << fmt::format(
        "--config: there is no option '{}'; the file takes the options of --help without the "
        "leading --, for example log-level = \"debug\"\n",
        text.substr(text.rfind(' ') + 1));
    return kBadOptions;
  }
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::FileError)) {
    // Only --config reads a file here.
    err << fmt::format("--config: '{}' {}\n", app["--config"]->results().back(), error.what());
    return kBadOptions;
  }
  std::ostringstream problem;
  const int code = app.exit(error, out, problem);
  err << RedactedMessage(problem.str(), arguments);
  return code == 0 ? kOk : kBadOptions;
}

std::optional<ExitCode> ReadArguments(CLI::App& app, int argc, const char* const* argv,
                                      const CheckOptions& check) {
  AddVersion(app);
  try {
    app.parse(argc, argv);
    if (const std::string wrong = check ? check() : ""; !wrong.empty()) {
      throw CLI::ValidationError(wrong);
    }
  } catch (const CLI::ParseError& error) {
    return Explain(app, error, {argv, static_cast<std::size_t>(argc)}, std::cout, std::cerr);
  }
  return std::nullopt;
}

}  // namespace stout::program
