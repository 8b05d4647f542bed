#include "server/config.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include "server/config_file.h"
#include "stout/adapters/open_store.h"
#include "stout/core/policy/basic.h"

namespace stout::docstore {
namespace {

using std::chrono::nanoseconds;

// "4096", "64KiB", "8MiB", "1GiB".
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

constexpr std::size_t kMaxThreads = 1024;
constexpr std::size_t kMaxShards = 4096;
constexpr std::size_t kMaxCount = 1'000'000'000;

// Adds options that read into a variable, with the variable's value as the default in --help.
class Options {
 public:
  explicit Options(CLI::App& app) : app_(app) {}

  void Group(std::string name) { group_ = std::move(name); }

  void Text(const std::string& name, std::string& value, const std::string& help,
            const std::string& type) {
    app_.add_option(name, value, help)->type_name(type)->capture_default_str()->group(group_);
  }

  void Count(const std::string& name, std::size_t& value, std::size_t max,
             const std::string& help) {
    Parsed(name, help, "COUNT", value == 0 ? "as many as threads" : std::to_string(value),
           [&value, max](const std::string& text) {
             std::size_t count = 0;
             const char* const end = text.data() + text.size();
             const auto [stop, error] = std::from_chars(text.data(), end, count);
             if (error != std::errc() || stop != end || count < 1 || count > max) {
               return fmt::format("'{}' is out of range: use 1 to {}", text, max);
             }
             value = count;
             return std::string();
           });
  }

  void Bytes(const std::string& name, std::size_t& value, std::size_t min,
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

  void Time(const std::string& name, nanoseconds& value, const std::string& help) {
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

  // `read` stores the text's meaning, and answers what is wrong with it, if something is.
  void Parsed(const std::string& name, const std::string& help, const std::string& type,
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

 private:
  CLI::App& app_;
  std::string group_;
};

std::string ReadPolicy(const std::string& text, Policy& policy) {
  std::string error;
  auto parsed = MakePolicy(text, &error);
  if (!parsed) return error;
  policy = std::move(*parsed);
  return {};
}

// "127.0.0.1:8080", "[::1]:8080", ":8080".
std::string ReadListen(const std::string& text, Config& config) {
  const auto colon = text.rfind(':');
  auto wrong = fmt::format("'{}' is no address: use HOST:PORT, like 127.0.0.1:8080", text);
  if (colon == std::string::npos) return wrong;
  const char* const end = text.data() + text.size();
  std::uint16_t port = 0;
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, port);
  if (error != std::errc() || stop != end) return wrong;
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  config.host = std::move(host);
  config.port = port;
  return {};
}

void AddOptions(CLI::App& app, Config& config) {
  Options options(app);
  EngineOptions& engine = config.documents.map.engine;
  LaneOptions& lane = engine.lane;
  HttpOptions& http = config.http;

  options.Group("Service");
  options.Text("--store", config.store, fmt::format("The store: {}", StoreUrlSyntax()), "URL");
  options.Parsed("--listen", "Address to serve; port 0 takes a free one, printed on stdout",
                 "HOST:PORT", fmt::format("{}:{}", config.host, config.port),
                 [&config](const std::string& text) { return ReadListen(text, config); });
  options.Count("--threads", config.threads, kMaxThreads, "Threads that serve requests");
  options.Count("--lanes", config.documents.shards, kMaxShards,
                "Shards that documents are spread over, each with its own batches");
  options.Time("--drain-timeout", config.drain_timeout,
               "Longest orderly end after SIGTERM or SIGINT; then, or at a second signal, the "
               "server ends at once with exit code 1");
  app.add_option("--log-level", config.log_level, "What is logged on stderr")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"}))
      ->type_name("LEVEL")
      ->capture_default_str()
      ->group("Service");

  options.Group("Batching, of each shard");
  options.Parsed("--policy", fmt::format("When to send: {}", PolicySyntax()), "POLICY",
                 lane.write_policy.Name(),
                 [&lane](const std::string& text) { return ReadPolicy(text, lane.write_policy); });
  options.Parsed("--read-policy", "The same for reads of what is not in memory", "POLICY",
                 lane.read_policy.Name(),
                 [&lane](const std::string& text) { return ReadPolicy(text, lane.read_policy); });
  options.Time("--max-delay", lane.max_delay,
               "A change older than this is sent whatever the policy says");
  options.Count("--max-batch-items", lane.max_batch_items, kMaxCount, "Most states in a batch");
  options.Bytes("--max-batch-bytes", lane.max_batch_bytes, 1, "Most bytes in a batch");
  options.Count("--max-batches-in-flight", lane.max_batches_in_flight, kMaxCount,
                "Most batches that the store has not answered");
  options.Count("--max-dirty-keys", lane.max_dirty_keys, kMaxCount,
                "Most states that are not durable; changes beyond are answered 503");
  options.Bytes("--max-dirty-bytes", lane.max_dirty_bytes, 1,
                "Most bytes that are not durable; changes beyond are answered 503");
  options.Count("--max-replies", engine.max_replies, kMaxCount,
                "Most answers that wait for the store; requests beyond are answered 503");
  options.Time("--reply-deadline", engine.reply_deadline,
               "A change that is not durable by then is answered 504");
  options.Time("--attempt-timeout", lane.attempt_timeout,
               "A batch without an answer by then is sent again");
  options.Time("--retry-first", lane.retry_first,
               "The first pause after a failed batch; it doubles up to --retry-cap");
  options.Time("--retry-cap", lane.retry_cap, "The longest pause after a failed batch");
  app.add_flag("--prefix-ordering", lane.prefix_ordering,
               "After a crash the store holds a prefix of each shard's changes; needs a store with "
               "atomic batches, --max-dirty-keys <= --max-batch-items and --max-dirty-bytes <= "
               "--max-batch-bytes")
      ->group("Batching, of each shard");

  options.Group("Limits");
  options.Bytes("--cache-bytes", config.documents.map.cache_bytes, 1 << 20,
                "States kept in memory, over all shards");
  options.Bytes("--max-section-bytes", http.max_body_bytes, 1, "Largest section; beyond it 413");
  options.Count("--max-sections", config.documents.max_sections, kMaxCount,
                "Most sections of a document; beyond it 507");
  options.Bytes("--max-header-bytes", http.max_header_bytes, 256,
                "Largest request header; beyond it 431");
  options.Count("--max-connections", http.max_connections, kMaxCount,
                "Most connections at once; beyond it 503");
  options.Count("--max-pipelined", http.max_pipelined, kMaxCount,
                "Most requests of a connection that await their answers; it is not read beyond");
  options.Time("--idle-timeout", http.idle_timeout,
               "A connection without a request for this long is closed");
  options.Time("--request-timeout", http.request_timeout,
               "Longest time for a client to send a request (else 408), or to take an answer");
}

// What only the combination of options shows.
std::string CheckTogether(const Config& config) {
  const EngineOptions& engine = config.documents.map.engine;
  // A section must fit into one batch with its key and the batch's other bytes.
  if (config.http.max_body_bytes + 1024 > engine.lane.max_batch_bytes) {
    return "--max-batch-bytes must exceed --max-section-bytes by 1KiB: raise the one or lower the "
           "other";
  }
  std::string wrong = Validate(engine).value_or("");
  std::replace(wrong.begin(), wrong.end(), '_', '-');  // names of fields to names of options
  return wrong;
}

}  // namespace

std::optional<int> ParseCommandLine(int argc, const char* const* argv, Config& config) {
  config.threads = std::max(1u, std::thread::hardware_concurrency());
  config.documents.shards = 0;  // as many as threads
  CLI::App app("Serves sectioned documents over HTTP, from memory, durably.", "docstore-server");
  app.get_formatter()->column_width(34);
  app.footer(
      PolicyOptions() +
      "\nSIGTERM or SIGINT ends it in order: it accepts no more, answers what it has read, and "
      "flushes.\nIt prints 'listening on HOST:PORT' on stdout once it serves, and logs on stderr.");
  app.config_formatter(std::make_shared<ConfigFile>());
  app.set_config("--config", "", "Read options from a TOML or JSON file; the command line wins")
      ->type_name("FILE");
  app.allow_config_extras(false);
  AddOptions(app, config);
  try {
    app.parse(argc, argv);
    if (config.documents.shards == 0) config.documents.shards = config.threads;
    if (const std::string wrong = CheckTogether(config); !wrong.empty()) {
      throw CLI::ValidationError(wrong);
    }
  } catch (const CLI::ConfigError& error) {
    const std::string_view text = error.what();  // "INI was not able to parse NAME"
    std::cerr << fmt::format(
        "--config: there is no option '{}'; the file takes those of --help, without the dashes\n",
        text.substr(text.rfind(' ') + 1));
    return static_cast<int>(CLI::ExitCodes::ConfigError);
  } catch (const CLI::ParseError& error) {
    return app.exit(error, std::cout, std::cerr);
  }
  return std::nullopt;
}

}  // namespace stout::docstore
