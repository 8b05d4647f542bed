#include "setup.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <charconv>
#include <chrono>
#include <exception>
#include <string_view>
#include <utility>

#include "errors.h"
#include "stout/adapters/store_url.h"

namespace stout::redis {
namespace {

namespace asio = boost::asio;

// Of INFO, lines of "name:value".
std::string_view Field(const std::string& info, std::string_view name) {
  const std::size_t at = info.find(fmt::format("\n{}:", name));
  if (at == info.npos) return {};
  const std::string_view value = std::string_view(info).substr(at + name.size() + 2);
  return value.substr(0, value.find('\r'));
}

// Of CONFIG GET, which answers pairs.
std::string_view Value(const Reply& reply) {
  return reply.elements.size() == 2 ? std::string_view(reply.elements[1].text) : "";
}

std::size_t ToNumber(std::string_view text) {
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// "7.2.4" is at least 7.2.
bool AtLeast(std::string_view version, std::size_t major, std::size_t minor) {
  const std::size_t dot = version.find('.');
  if (dot == version.npos) return false;
  return std::pair(ToNumber(version.substr(0, dot)), ToNumber(version.substr(dot + 1))) >=
         std::pair(major, minor);
}

}  // namespace

asio::awaitable<bool> Inspect(Connection& connection, ServerFacts* facts) {
  Commands questions;
  questions.Add({"INFO", "server"});
  questions.Add({"INFO", "replication"});
  // One each: several at once are new in Redis 7.
  for (const char* name :
       {"appendonly", "appendfsync", "maxmemory", "maxmemory-policy", "proto-max-bulk-len"}) {
    questions.Add({"CONFIG", "GET", name});
  }
  const Outcome outcome = co_await connection.Run(questions);
  if (outcome.errc != Errc::kOk) co_return false;
  const auto& replies = outcome.replies;
  facts->waits_for_aof = AtLeast(Field(replies[0].text, "redis_version"), 7, 2);
  facts->replica = Field(replies[1].text, "role") == "slave";
  facts->has_aof = Value(replies[2]) == "yes";
  facts->syncs = facts->has_aof && Value(replies[3]) == "always";
  facts->evicts = ToNumber(Value(replies[4])) > 0 && Value(replies[5]).starts_with("allkeys");
  facts->max_argument = ToNumber(Value(replies[6]));
  for (const Reply& reply : replies) {
    if (reply.error() && facts->unknown.empty()) facts->unknown = reply.text;
  }
  co_return true;
}

Replication ReplicationOf(const RedisOptions& options, const ServerFacts& facts) {
  return {.replicas = options.wait,
          .on_disk = facts.has_aof && facts.waits_for_aof,
          .timeout = std::chrono::ceil<std::chrono::milliseconds>(options.wait_timeout)};
}

bool IsDurable(const ServerFacts& facts, const Replication& replication) {
  const bool waited = replication.replicas > 0 && replication.on_disk;
  return (facts.syncs || waited) && !facts.evicts;
}

std::string WhyNotDurable(const ServerFacts& facts) {
  if (!facts.unknown.empty()) return fmt::format("its settings are not known ({})", facts.unknown);
  if (facts.evicts) return "its maxmemory-policy evicts keys";
  return "it is not set to appendonly yes and appendfsync always";
}

Result<ServerFacts> SetUp(const std::shared_ptr<const RedisOptions>& options, const Target& target,
                          Diagnostics* diagnostics) {
  // Of its own: the caller's executor may be the thread that waits here.
  asio::io_context io;
  Connection connection(options, target, io.get_executor());
  ServerFacts facts;
  Outcome outcome;
  const auto ask = [&]() -> asio::awaitable<void> {
    outcome = co_await connection.Open();
    if (outcome.errc != Errc::kOk) co_return;
    const bool answered = co_await Inspect(connection, &facts);
    if (!answered) {
      outcome.errc = Errc::kTransient;
      outcome.message = "the connection was lost";
    }
  };
  asio::co_spawn(io, ask, [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
  io.run();
  if (outcome.errc == Errc::kOk && facts.replica) {
    outcome.errc = Errc::kTransient;
    outcome.message = "it is a replica";
  }
  if (outcome.errc != Errc::kOk) {
    return Fail(outcome.errc, fmt::format("redis {}: {}", NameOf(target.address), outcome.message),
                diagnostics);
  }
  return facts;
}

}  // namespace stout::redis
