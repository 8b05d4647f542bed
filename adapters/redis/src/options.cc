#include "options.h"

#include <chrono>
#include <utility>

#include "resp/client/address.h"

namespace stout::redis {

void ReadOptions(UrlOptionReader& reader, RedisOptions* options) {
  constexpr std::chrono::milliseconds kShortest{1};
  std::string mode = "versioned";
  reader.Choice("mode", mode, {"versioned", "plain"});
  options->mode = mode == "plain" ? RedisMode::kPlain : RedisMode::kVersioned;
  reader.Text("prefix", options->prefix);
  reader.Duration("tombstone_ttl", options->tombstone_ttl);
  reader.Duration("timeout", options->timeout, kShortest);
  reader.Duration("connect_timeout", options->connect_timeout, kShortest);
  reader.Count("wait", options->wait, 0, 100);
  reader.Duration("wait_timeout", options->wait_timeout, kShortest);
  reader.Flag("detect_loss", options->detect_loss);
  reader.Count("connections", options->connections, 1, 1000);
  reader.Count("read_connections", options->read_connections, 1, 1000);
  reader.Count("max_queue", options->max_queue, 1, std::size_t{1} << 30);
}

std::optional<std::string> Check(const RedisOptions& options) {
  if (options.connections < 1) return "connections must be at least 1";
  if (options.read_connections < 1) return "read_connections must be at least 1";
  if (options.max_queue < 1) return "max_queue must be at least 1";
  if (options.timeout <= Duration::zero()) return "timeout must be positive";
  if (options.connect_timeout <= Duration::zero()) return "connect_timeout must be positive";
  if (options.tombstone_ttl < Duration::zero()) return "tombstone_ttl must not be negative";
  if (options.wait_timeout < Duration::zero()) return "wait_timeout must not be negative";
  if (options.wait > 0 && options.wait_timeout >= options.timeout) {
    return "wait_timeout must be below timeout";
  }
  if (!options.user.empty() && options.password.empty()) return "a user needs a password";
  return std::nullopt;
}

std::optional<std::vector<RedisAddress>> ReadAuthority(std::string_view text,
                                                       RedisOptions* options) {
  std::optional<resp::Authority> authority = resp::ReadAuthority(text, RedisAddress().port);
  if (!authority) return std::nullopt;
  if (!authority->password.empty()) {
    options->user = std::move(authority->user);
    options->password = std::move(authority->password);
  }
  std::vector<RedisAddress> addresses;
  for (resp::Address& address : authority->addresses) {
    addresses.push_back({std::move(address.host), address.port});
  }
  return addresses;
}

}  // namespace stout::redis
