#include "load_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>

#include "stout/adapters/store_url.h"
#include "stout/core/options.h"

namespace stout::blowfish {
namespace {

constexpr const char* kDescription =
    "Loads delimited files, a record a line, into a blowfish-server, or another server that speaks "
    "the protocol of Redis. '-' is the standard input; files named *.zst are unpacked.";
constexpr const char* kFooter =
    "Empty lines are skipped, and their number is printed. A line whose key columns are all empty "
    "is an error, and so is one that lacks a key column.\n"
    "Of lines with the same key the last one stays, unless a connection is lost meanwhile: "
    "what the server then takes late may undo a later line.\n"
    "The password comes from a file, or from the environment as BLOWFISH_PASSWORD.\n"
    "Exit status: 0 all is loaded, 1 there were errors, 2 bad options, 130 interrupted.";

constexpr std::size_t kMostColumn = 65536;
constexpr std::size_t kMostLine = std::size_t{512} << 20;  // Redis takes no longer strings

[[noreturn]] void Reject(const std::string& flag, const std::string& why) {
  throw CLI::ValidationError(flag, why);
}

void AddDestination(CLI::App& app, LoaderOptions& options) {
  app.add_option_function<std::string>(
         "--to",
         [&options](const std::string& text) {
           const Result<HostPort> parsed = ParseHostPort(text);
           if (!parsed) {
             Reject("--to",
                    fmt::format("'{}': write HOST:PORT, an IPv6 address as [::1]:6480", text));
           }
           options.host = parsed->host;
           options.port = parsed->port;
         },
         "The server")
      ->type_name("HOST:PORT")
      ->default_str(fmt::format("{}:{}", options.host, options.port));
  app.add_option_function<std::string>(
         "--password-file",
         [&options](const std::string& path) {
           std::ifstream file(path, std::ios::binary);
           std::string password;
           std::getline(file, password);
           if (!file && !file.eof()) {
             Reject("--password-file",
                    fmt::format("cannot read '{}'; check path and rights", path));
           }
           if (password.empty()) {
             Reject("--password-file", fmt::format("the first line of '{}' is empty", path));
           }
           options.password = password;
         },
         "A file whose first line is the password")
      ->type_name("FILE");
  app.add_option("--connections", options.connections, "To the server")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--window", options.window.commands, "Commands under way on each connection")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--batch", options.window.batch, "Records of a command: 1 is SET, more are MSET")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--patience",
         [&options](const std::string& text) {
           const std::optional<Duration> parsed = ParseDuration(text);
           if (!parsed || *parsed < std::chrono::milliseconds(1)) {
             Reject("--patience", fmt::format("'{}' is not a duration such as 600ms or 30s", text));
           }
           options.patience = *parsed;
         },
         "Gives up where nothing is done for so long")
      ->type_name("DURATION")
      ->default_str(FormatDuration(options.patience));
}

void AddSplitting(CLI::App& app, SplitOptions& options) {
  app.add_option_function<std::string>(
         "--delimiter",
         [&options](const std::string& text) {
           const std::string byte = text == "\\t" ? "\t" : text;
           if (byte.size() != 1 || byte == "\n") {
             Reject("--delimiter",
                    fmt::format("'{}': give one byte other than a newline; \\t is a tab", text));
           }
           options.delimiter = byte.front();
         },
         "Between columns; \\t is a tab")
      ->type_name("CHAR")
      ->default_str(std::string(1, options.delimiter));
  CLI::Option* const key =
      app.add_option(
             "--key", options.key_columns,
             "Columns that make up the key, the first is 1; several are joined by the delimiter")
          ->delimiter(',')
          ->allow_extra_args(false)  // What follows is a file.
          ->check(CLI::Range(std::size_t{1}, kMostColumn))
          ->type_name("N,...")
          ->capture_default_str();
  app.add_option("--key-prefix", options.key_prefix, "What every key begins with")
      ->type_name("TEXT");
  CLI::Option* const drop =
      app.add_flag("--drop-key,!--keep-key", options.drop_key,
                   "Whether the value lacks the key's columns, or is the whole line (default)");
  app.add_flag_callback(
         "--line-numbers", [&options] { options.key_columns.clear(); },
         "The key is the line's number, counted through all files")
      ->excludes(key)
      ->excludes(drop);
}

void CheckColumns(std::vector<std::size_t> columns) {
  std::sort(columns.begin(), columns.end());
  const auto twice = std::adjacent_find(columns.begin(), columns.end());
  if (twice != columns.end()) Reject("--key", fmt::format("has column {} twice", *twice));
}

void CheckFiles(const std::vector<std::string>& files) {
  if (std::count(files.begin(), files.end(), "-") > 1) {
    Reject("FILE", "the standard input ('-') can be read only once");
  }
}

}  // namespace

Result<HostPort> ParseHostPort(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return Errc::kBadUrl;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const bool v6 = host.starts_with('[') && host.ends_with(']');
  if (v6) host = host.substr(1, host.size() - 2);
  HostPort parsed{.host = std::string(host)};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), parsed.port);
  const bool whole = error == std::errc() && end == port.data() + port.size();
  if (!whole || parsed.port == 0 || host.empty() || (host.find(':') != host.npos) != v6) {
    return Errc::kBadUrl;
  }
  return parsed;
}

std::variant<LoadOptions, ExitCode> ParseLoadOptions(int argc, const char* const* argv,
                                                     const char* password) {
  LoadOptions options;
  if (password != nullptr) options.loader.password = password;
  CLI::App app(kDescription, "blowfish-load");
  app.footer(kFooter);
  app.add_option("FILE", options.files, "What to load, in this order")->required()->type_name("");
  AddDestination(app, options.loader);
  AddSplitting(app, options.split);
  app.add_flag("--skip-header", options.skip_header, "Passes over the first line of each file");
  app.add_option("--skip-lines", options.skip_lines,
                 "Passes over so many lines of all files together: goes on where a load has ended")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  app.add_option("--max-line", options.max_line, "Longer lines are errors")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::size_t{1}, kMostLine))
      ->default_str("1MiB")
      ->type_name("SIZE");
  app.add_flag("--quiet", options.quiet, "Prints errors alone, and where to go on after them");
  app.add_flag("--dry-run", options.dry_run, "Reads and checks everything, and sends nothing");
  try {
    app.parse(argc, argv);
    CheckColumns(options.split.key_columns);
    CheckFiles(options.files);
  } catch (const CLI::ParseError& error) {
    std::ostringstream why;
    const int code = app.exit(error, std::cout, why);
    std::cerr << RedactedMessage(why.str(), {argv, static_cast<std::size_t>(argc)});
    return code == 0 ? ExitCode::kOk : ExitCode::kBadOptions;
  }
  return options;
}

}  // namespace stout::blowfish
