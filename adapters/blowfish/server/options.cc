#include "blowfish/server/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "blowfish/server/value_limits.h"
#include "program/command_line.h"
#include "program/options.h"
#include "stout/adapters/store_url.h"

namespace stout::blowfish {
namespace {

// The attributes of a new directory's values, as text.
struct SchemaOptions {
  std::vector<std::string> lists;  // "a,b": CLI11 would drop the empty name of "a,,b"
  std::string delimiter = "|";
};

std::string ReadSource(const std::string& url, std::optional<CopyOrder>& order) {
  Diagnostics why;
  const auto parts = ParseStoreUrl(url, &why);
  if (!parts) return why.message;
  if (parts->scheme != "blowfish") return "it is not the URL of a blowfish-server";
  auto source = BlowfishStore::ReadUrl(*parts, &why);
  if (!source) return why.message;
  order = CopyOrder{.directory = {}, .source = *std::move(source), .url = Redacted(url)};
  return {};
}

void AddDirectory(CLI::App& app, ProgramOptions& options, SchemaOptions& schema) {
  program::Options directory(app);
  directory.Group("Directory");
  directory
      .Text("--dir", options.directory, "The directory of the shards; created if it is missing",
            "DIRECTORY")
      ->required()
      ->check(CheckDirectory);
  directory.Parsed("--copy-from",
                   "A server whose data fills the directory, which has no shards yet, before this "
                   "server serves; that server goes on meanwhile. The password may be in "
                   "BLOWFISH_PASSWORD in the environment instead",
                   "blowfish://[:PASSWORD@]HOST:PORT", "",
                   [&options](const std::string& url) { return ReadSource(url, options.copy); });
  directory
      .Count("--shards", options.shards, 1, 1024,
             "Number of shards of a new directory; each has a thread")
      ->default_str("as many as processors");
  CLI::Option* const attributes =
      app.add_option("--attributes", schema.lists,
                     "Names of the parts of a value in a new directory, for SEARCH")
          ->type_name("NAME,...")
          ->group("Directory");
  directory
      .Text("--delimiter", schema.delimiter,
            "The byte between the parts of a value in a new directory; \\t is a tab", "CHAR")
      ->needs(attributes)
      ->check([](const std::string& text) {
        return text.size() == 1 || text == "\\t" ? ""
                                                 : "'" + text + "' is not one byte; \\t is a tab";
      });
  app.add_flag("--text-index", options.shard.text_index,
               "Index all substrings of the values of a new directory: GREP and GETRANGE become "
               "faster, files larger, and GET and merges slower")
      ->group("Directory");
}

void AddClients(program::Options& options, ServerOptions& server, program::Address& listen) {
  resp::ConnectionLimits& connections = server.connections;
  options.Listen("--listen", listen, "Address for clients; port 0 takes a free port");
  options.PasswordFile("--password-file", server.password,
                       "A file whose first line is the password that clients send with AUTH; "
                       "without it clients need none");
  options.UnixSocket(server.unix_socket.path, server.unix_socket.mode);
  options.Tls(server.tls.certificate, server.tls.key);
  options.Count("--max-clients", connections.max_clients, 1, 1'000'000,
                "Maximum connections at once");
  options
      .Bytes("--max-request", connections.commands.max_request, 0,
             "Maximum bytes of a command: --max-value and 4KiB at least")
      ->default_str("twice --max-value, 256MiB at least");
  options.Bytes(
      "--max-value", connections.commands.max_bulk, 0,
      "Maximum bytes of a value without its key, and of any other argument: 64 bytes to 256MiB");
  options.Bytes("--max-replies", connections.max_replies, 0,
                "Maximum reply bytes per shard for one pipelined batch: --max-value at least");
  options.Seconds("--write-timeout", connections.write_timeout, std::chrono::milliseconds(1),
                  std::chrono::seconds(1'000'000'000),
                  "A client that takes no replies for this time is disconnected");
  options.Bytes("--min-read-rate", connections.min_read_rate, 1,
                "A client that takes fewer bytes per second is disconnected after --write-timeout");
}

void AddWork(program::Options& options, ProgramOptions& program) {
  options.Bytes("--memory-budget", program.server.memory_budget, 0,
                "Memory for compressed data and for the layers that make it fast. While data is "
                "written, changes and merges take as much again");
  options
      .Bytes("--freeze-bytes", program.freeze_bytes, 0,
             "Memory per shard for the newest changes, 8GiB at most. When they reach this size, "
             "they are sorted and become read-only")
      ->default_str("a quarter of --merge-bytes, but at least 1MiB");
  options
      .Bytes(
          "--merge-bytes", program.merge_bytes, 0,
          "A shard is compressed when its log has this size, 4GiB at most. A start reads this log")
      ->default_str("a sixteenth of a shard's part of --memory-budget, 2MiB to 64MiB");
  options
      .Count("--merges", program.merges, 1, 1024,
             "Maximum shards that are compressed at once, which share half of --memory-budget; "
             "further shards wait")
      ->default_str("a quarter of the processors, 1 at least");
  options.Choice<LayerFilling>(
      "--fill-layers", program.shard.layer_filling,
      {{"dedicated", LayerFilling::kDedicated}, {"opportunistic", LayerFilling::kOpportunistic}},
      "How new layers are filled: by threads beside the shards, or only by "
      "the reads that need them, which takes much longer");
}

std::vector<std::string> NamesOf(const std::vector<std::string>& lists) {
  std::vector<std::string> names;
  for (const std::string& list : lists) {
    for (std::size_t begin = 0, end = 0; end != list.npos; begin = end + 1) {
      end = list.find(',', begin);
      names.push_back(list.substr(begin, end - begin));
    }
  }
  return names;
}

// Applies defaults and checks that depend on several options.
void Complete(const CLI::App& app, const SchemaOptions& schema, ProgramOptions& options) {
  if (options.copy) {
    std::string& password = options.copy->source.password;
    const char* const hidden = std::getenv("BLOWFISH_PASSWORD");
    if (password.empty() && hidden != nullptr) password = hidden;
    options.copy->directory = options.directory;
    options.copy->shards = options.shards;
  }
  resp::CommandLimits& commands = options.server.connections.commands;
  if (app.count("--max-request") == 0) {  // a key may be as large as a value
    commands.max_request = std::max(commands.max_request,
                                    2 * std::min(commands.max_bulk, kMaxValueLimit) + kRequestRoom);
  }
  if (const auto wrong = CheckLimits(commands, options.server.connections.max_replies)) {
    throw CLI::ValidationError(wrong->option, wrong->why);
  }
  Diagnostics why;
  if (!resp::LoadTls(options.server.tls, &why)) throw CLI::ValidationError(why.message);
  if (schema.lists.empty()) return;
  const char delimiter = schema.delimiter == "\\t" ? '\t' : schema.delimiter.front();
  auto made = Schema::Make(NamesOf(schema.lists), delimiter, &why);
  if (!made) throw CLI::ValidationError("--attributes", why.message);
  options.shard.schema = std::move(*made);
  options.has_schema = true;
}

}  // namespace

std::string CheckDirectory(const std::string& directory) {
  std::error_code unknown;
  if (!std::filesystem::exists(directory, unknown) || unknown) return {};
  if (std::filesystem::is_directory(directory, unknown) || unknown) return {};
  return directory + " is not a directory: name a directory";
}

std::optional<int> ParseCommandLine(int argc, const char* const* argv, ProgramOptions& options) {
  CLI::App app(
      "Serves keys from compressed, searchable shards to clients of Redis.\n"
      "Gives busy shards more memory, within a budget, so that they answer faster.",
      "blowfish-server");
  app.footer(
      "The first SIGTERM or SIGINT ends the server when clients have their replies, the second one "
      "at once, and the third one kills it. It logs on stderr.\n"
      "blowfish-server reshard --help: how a directory gets another number of shards.");
  SchemaOptions schema;
  AddDirectory(app, options, schema);
  program::Options more(app);
  program::Address listen{options.server.host, options.server.port};
  more.Group("Clients");
  AddClients(more, options.server, listen);
  more.Group("Memory and compression");
  AddWork(more, options);
  more.Group("Service");
  more.Metrics(options.metrics, "Address that serves /metrics to Prometheus");
  more.LogLevel(options.log_level);
  const auto end = program::ReadArguments(app, argc, argv, [&] {
    Complete(app, schema, options);
    return std::string();
  });
  options.server.host = listen.host.empty() ? "0.0.0.0" : listen.host;
  options.server.port = listen.port;
  return end;
}

}  // namespace stout::blowfish
