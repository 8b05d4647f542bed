#include "blowfish/load/load_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <string>

#include "program/command_line.h"
#include "program/options.h"

namespace stout::blowfish {
namespace {

constexpr const char* kDescription =
    "Loads delimited files with one record per line into a blowfish-server, or into another server "
    "with the protocol of Redis. '-' is stdin. Files named *.zst are unpacked.";
constexpr const char* kFooter =
    "Empty lines are skipped and counted. A line is an error if it lacks a key column, or if all "
    "its key columns are empty.\n"
    "If several lines have the same key, the last line wins. If a connection is lost meanwhile, "
    "the server may apply an earlier line late, so that it wins.\n"
    "The password comes from --password-file, or from the environment variable BLOWFISH_PASSWORD.\n"
    "Exit codes: 0 all lines are loaded; 1 there were errors; 2 wrong options; 130 interrupted.";

constexpr std::size_t kMostColumn = 65536;
constexpr std::size_t kMostLine = std::size_t{512} << 20;  // Redis takes no longer strings

[[noreturn]] void Reject(const std::string& flag, const std::string& why) {
  throw CLI::ValidationError(flag, why);
}

void AddDestination(program::Options& options, LoaderOptions& loader) {
  options.Peer("--to", loader.server, "The server");
  options.PasswordFile("--password-file", loader.password,
                       "A file whose first line is the password");
  options.Count("--connections", loader.connections, 1, 256, "Connections to the server");
  options.Count("--window", loader.window.commands, 1, 100'000,
                "Commands in flight per connection");
  options.Count("--batch", loader.window.batch, 1, 10'000,
                "Records per command: 1 uses SET, more use MSET");
  options.Time("--patience", loader.patience, std::chrono::milliseconds(1), Duration::max(),
               "Gives up if a connection makes no progress for this time");
}

void AddSplitting(CLI::App& app, SplitOptions& options) {
  app.add_option_function<std::string>(
         "--delimiter",
         [&options](const std::string& text) {
           const std::string byte = text == "\\t" ? "\t" : text;
           if (byte.size() != 1 || byte == "\n") {
             Reject("--delimiter",
                    fmt::format("'{}' is not one byte other than a newline; \\t is a tab", text));
           }
           options.delimiter = byte.front();
         },
         "The byte between columns; \\t is a tab")
      ->type_name("CHAR")
      ->default_str(std::string(1, options.delimiter));
  CLI::Option* const key =
      app.add_option("--key", options.key_columns,
                     "Columns that form the key, joined by the delimiter; the first column is 1")
          ->delimiter(',')
          ->allow_extra_args(false)  // the next argument is a file
          ->check(CLI::Range(std::size_t{1}, kMostColumn))
          ->type_name("N,...")
          ->capture_default_str();
  app.add_option("--key-prefix", options.key_prefix, "Prefix of every key")->type_name("TEXT");
  CLI::Option* const drop =
      app.add_flag("--drop-key,!--keep-key", options.drop_key,
                   "Remove the key's columns from the value, or keep the whole line (default)");
  app.add_flag_callback(
         "--line-numbers", [&options] { options.key_columns.clear(); },
         "Use the line's number as the key, counted through all files")
      ->excludes(key)
      ->excludes(drop);
}

void CheckColumns(std::vector<std::size_t> columns) {
  std::sort(columns.begin(), columns.end());
  const auto twice = std::adjacent_find(columns.begin(), columns.end());
  if (twice != columns.end())
    Reject("--key", fmt::format("column {} appears twice: give each column once", *twice));
}

void CheckFiles(const std::vector<std::string>& files) {
  if (std::count(files.begin(), files.end(), "-") > 1) {
    Reject("FILE", "stdin ('-') can be read only once: give it once");
  }
}

}  // namespace

std::variant<LoadOptions, ExitCode> ParseLoadOptions(int argc, const char* const* argv,
                                                     const char* password) {
  LoadOptions options;
  if (password != nullptr) options.loader.password = password;
  CLI::App app(kDescription, "blowfish-load");
  app.footer(kFooter);
  app.add_option("FILE", options.files, "Files to load, in this order")->required()->type_name("");
  program::Options destination(app);
  AddDestination(destination, options.loader);
  AddSplitting(app, options.split);
  program::Options more(app);
  more.Flag("--skip-header", options.skip_header, "Skip the first line of each file");
  more.Count("--skip-lines", options.skip_lines, 0, program::kNoMax,
             "Skip this number of lines, counted through all files: continues an earlier load");
  more.Bytes("--max-line", options.max_line, 1, kMostLine,
             "Longest line; a longer one is an error");
  more.Flag("--quiet", options.quiet, "Print only errors, and how to continue after them");
  more.Flag("--dry-run", options.dry_run, "Read and check everything, and send nothing");
  const auto end = program::ReadArguments(app, argc, argv, [&options] {
    CheckColumns(options.split.key_columns);
    CheckFiles(options.files);
    return std::string();
  });
  if (end) return *end;
  return options;
}

}  // namespace stout::blowfish
