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
    "with the protocol of Redis. '-' is stdin. Files named *.zst are unpacked. For files of gzip, "
    "use zcat.";
constexpr const char* kFooter =
    "Empty lines are skipped and counted. A line is an error if it lacks a key column, or if all "
    "its key columns are empty.\n"
    "If several lines have the same key, the last line wins. If a connection is lost meanwhile, "
    "the server may apply an earlier line late, so that it wins.\n"
    "The password comes from --password-file, or from the environment variable BLOWFISH_PASSWORD.\n"
    "Exit codes: 0 all lines are loaded; 1 there were errors; 2 wrong options; 130 interrupted.";

constexpr std::size_t kMaxColumn = 65536;
constexpr Duration kMaxPatience = std::chrono::hours(24 * 365);  // a time from now on is a number
constexpr std::size_t kMaxLine = std::size_t{512} << 20;         // Redis takes no longer strings

void AddDestination(program::Options& options, LoaderOptions& loader) {
  options.Peer("--to", loader.server, "The server");
  options.PasswordFile("--password-file", loader.password,
                       "A file whose first line is the password");
  options.Count("--connections", loader.connections, 1, 256, "Connections to the server");
  options.Count("--window", loader.window.commands, 1, 100'000,
                "Commands in flight per connection");
  options.Count("--batch", loader.window.batch, 1, 10'000,
                "Records per command: 1 uses SET, more use MSET");
  options.Time("--patience", loader.patience, std::chrono::milliseconds(1), kMaxPatience,
               "Give up if a connection makes no progress for this time because the server refuses "
               "it or does not answer PING");
}

void AddSplitting(CLI::App& app, program::Options& parsed, SplitOptions& options) {
  parsed.Parsed("--delimiter", "The byte between columns; \\t is a tab", "CHAR",
                std::string(1, options.delimiter), [&options](const std::string& text) {
                  const std::string byte = text == "\\t" ? "\t" : text;
                  if (byte.size() != 1 || byte == "\n") {
                    return fmt::format("'{}' is not one byte other than a newline; \\t is a tab",
                                       text);
                  }
                  options.delimiter = byte.front();
                  return std::string();
                });
  CLI::Option* const key =
      app.add_option("--key", options.key_columns,
                     "Columns that form the key, joined by the delimiter; the first column is 1")
          ->delimiter(',')
          ->allow_extra_args(false)  // the next argument is a file
          ->check(CLI::Range(std::size_t{1}, kMaxColumn))
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

std::string Check(const LoadOptions& options) {
  std::vector<std::size_t> columns = options.split.key_columns;
  std::sort(columns.begin(), columns.end());
  const auto twice = std::adjacent_find(columns.begin(), columns.end());
  if (twice != columns.end()) {
    return fmt::format("--key: column {} appears twice: give each column once", *twice);
  }
  if (std::count(options.files.begin(), options.files.end(), "-") > 1) {
    return "FILE: stdin ('-') can be read only once: give it once";
  }
  return {};
}

}  // namespace

std::variant<LoadOptions, ExitCode> ParseLoadOptions(int argc, const char* const* argv,
                                                     const char* password) {
  LoadOptions options;
  if (password != nullptr) options.loader.password = password;
  CLI::App app(kDescription, "blowfish-load");
  app.footer(kFooter);
  app.add_option("FILE", options.files, "Files to load, in this order")->required()->type_name("");
  program::Options parsed(app);
  AddDestination(parsed, options.loader);
  AddSplitting(app, parsed, options.split);
  parsed.Flag("--skip-header", options.skip_header, "Skip the first line of each file");
  parsed.Count("--skip-lines", options.skip_lines, 0, program::kNoMax,
               "Skip this number of lines, counted through all files: continues an earlier load");
  parsed.Bytes("--max-line", options.max_line, 1, kMaxLine,
               "Longest line; a longer one is an error");
  parsed.Flag("--quiet", options.quiet, "Print only errors, and how to continue after them");
  parsed.Flag("--dry-run", options.dry_run, "Read and check everything, and send nothing");
  const auto end = program::ReadArguments(app, argc, argv, [&options] { return Check(options); });
  if (end) return *end;
  return options;
}

}  // namespace stout::blowfish
