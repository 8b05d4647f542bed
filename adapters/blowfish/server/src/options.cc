#include "options.h"

#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "info.h"
#include "value_limits.h"

namespace stout::blowfish {
namespace {

// "HOST:PORT", "[::1]:PORT" or ":PORT". What is wrong with it, if something is.
std::string ParseAddress(const std::string& text, std::string& host, std::uint16_t& port) {
  const std::size_t colon = text.rfind(':');
  unsigned number = 0;
  const bool is_number =
      colon != std::string::npos && CLI::detail::lexical_cast(text.substr(colon + 1), number);
  if (!is_number || number > 65535) return "'" + text + "' is not HOST:PORT, like 127.0.0.1:6480";
  std::string name = text.substr(0, colon);
  if (name.size() > 2 && name.front() == '[' && name.back() == ']')
    name = name.substr(1, name.size() - 2);
  host = name.empty() ? "0.0.0.0" : name;
  port = static_cast<std::uint16_t>(number);
  return {};
}

std::string ReadPassword(const std::string& path, std::string& password) {
  std::ifstream file(path);
  if (!std::getline(file, password) || password.empty())
    return path + " cannot be read, or its first line is empty";
  return {};
}

// CLI11 takes -1 for 2^64 - 1.
std::string RefuseSign(const std::string& text) {
  return text.starts_with('-') ? "'" + text + "' is less than 0" : "";
}

class Reader {
 public:
  explicit Reader(CLI::App& app) : app_(app) {}

  template <typename Number>
  void Bytes(const std::string& name, Number& value, const std::string& help) {
    app_.add_option(name, value, help)
        ->transform(CLI::AsSizeValue(false))
        ->transform(CLI::Validator(RefuseSign, ""))  // Before the other.
        ->capture_default_str();
  }
  void Seconds(const std::string& name, Duration& value, const std::string& help) {
    const auto shown = std::chrono::duration<double>(value).count();
    app_.add_option_function<double>(
            name,
            [&value](double seconds) {
              value = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
            },
            help)
        ->check(CLI::Range(1e-3, 1e9))
        ->default_str(fmt::format("{}", shown))
        ->type_name("SECONDS");
  }

 private:
  CLI::App& app_;
};

}  // namespace

std::optional<int> ParseCommandLine(int argc, const char* const* argv, ProgramOptions& options) {
  CLI::App app(
      "Serves keys from compressed, searchable shards, to any client of redis.\n"
      "Shards that are busy get memory, within a budget, to be faster.");
  app.set_version_flag("--version", std::string(kServerVersion));
  Reader reader(app);
  ServerOptions& server = options.server;
  ShardOptions& shard = options.shard;

  app.add_option_function<std::string>(
         "--listen",
         [&](const std::string& text) {
           const std::string wrong = ParseAddress(text, server.host, server.port);
           if (!wrong.empty()) throw CLI::ValidationError("--listen", wrong);
         },
         "Where clients come; port 0: any that is free")
      ->default_str("127.0.0.1:6480")
      ->type_name("HOST:PORT");
  app.add_option("--dir", options.directory, "Where the shards are kept; made if it is not there")
      ->required()
      ->type_name("DIR");
  app.add_option("--shards", options.shards,
                 "Of a new directory: how many; each has a thread (default: as many as processors)")
      ->check(CLI::Range(1, 1024));
  reader.Bytes("--memory-budget", server.memory_budget,
               "For compressed data and the layers that make it fast, like 4GB. The memory of "
               "--merges comes on top, and so does data that is not compressed yet: with the "
               "default --merge-bytes of 64MiB, 100 to 140MiB per shard");
  std::vector<std::string> names;
  std::string delimiter = "|";
  CLI::Option* const attributes =
      app.add_option("--attributes", names,
                     "Of a new directory: what the parts of a value are called, for SEARCH")
          ->delimiter(',')
          ->type_name("NAME,...");
  app.add_option("--delimiter", delimiter,
                 "Of a new directory: the byte between the parts; \\t is a tab")
      ->capture_default_str()
      ->needs(attributes)
      ->check([](const std::string& text) {
        return text.size() == 1 || text == "\\t" ? "" : "it is one byte, not '" + text + "'";
      });
  std::string password_file;
  app.add_option("--password-file", password_file,
                 "Its first line is what clients must say with AUTH (default: none)")
      ->type_name("FILE");
  app.add_option("--metrics", options.metrics, "Where Prometheus finds /metrics (default: nowhere)")
      ->type_name("HOST:PORT");
  app.add_option("--max-clients", server.max_clients, "Connections at a time")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  reader.Bytes("--max-request", server.connections.commands.max_request,
               "Most bytes of a whole command; at least --max-value and 4KiB, by default twice as "
               "much or 256MiB");
  reader.Bytes("--max-value", server.connections.commands.max_bulk,
               "Most bytes of a value, without its key, and of any other argument: 64 to 256MiB");
  reader.Bytes(
      "--max-replies", server.connections.max_replies,
      "Most bytes of values that one shard gives to what one read of a connection brought; "
      "at least --max-value");
  reader.Seconds("--write-timeout", server.connections.write_timeout,
                 "A client that takes no replies for so long is cut off");
  reader.Bytes("--min-read-rate", server.connections.min_read_rate,
               "And one that takes less a second, once it had that time");
  reader.Bytes("--freeze-bytes", shard.compaction.freeze_bytes,
               "Memory of what is not sorted yet, of a shard");
  reader.Bytes("--merge-bytes", shard.compaction.merge_bytes,
               "Log of a shard from which on it is compressed: what a start reads");
  app.add_option(
         "--merges", options.merges,
         "Shards that are compressed at a time, each with 3 to 23 bytes of memory for "
         "each byte of its values; others wait (default: a quarter of the processors, at least 1)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--log-level", options.log_level, "debug, info, warn or err")
      ->capture_default_str()
      ->check(CLI::IsMember({"debug", "info", "warn", "err"}));
  try {
    app.parse(argc, argv);
    if (!password_file.empty()) {
      const std::string wrong = ReadPassword(password_file, server.password);
      if (!wrong.empty()) throw CLI::ValidationError("--password-file", wrong);
    }
    CommandLimits& commands = server.connections.commands;
    if (app.count("--max-request") == 0) {  // a key may be as large as a value
      commands.max_request = std::max(
          commands.max_request, 2 * std::min(commands.max_bulk, kMostMaxValue) + kRequestRoom);
    }
    if (const auto wrong = CheckLimits(commands, server.connections.max_replies))
      throw CLI::ValidationError(wrong->option, wrong->why);
    if (server.connections.min_read_rate == 0)
      throw CLI::ValidationError("--min-read-rate", "it is more than 0");
    if (!names.empty()) {
      Diagnostics why;
      auto schema = Schema::Make(names, delimiter == "\\t" ? '\t' : delimiter.front(), &why);
      if (!schema) throw CLI::ValidationError("--attributes", why.message);
      shard.schema = std::move(*schema);
      options.has_schema = true;
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  return std::nullopt;
}

}  // namespace stout::blowfish
