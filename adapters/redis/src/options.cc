#include "options.h"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <utility>

namespace stout::redis {
namespace {

std::optional<RedisAddress> ReadAddress(std::string_view text) {
  RedisAddress address;
  // The colons of "[::1]" are its own.
  const bool bracketed = text.starts_with('[');
  const std::size_t end = bracketed ? text.find(']') : text.find(':');
  if (bracketed && end == text.npos) return std::nullopt;
  const std::string_view host = bracketed ? text.substr(1, end - 1) : text.substr(0, end);
  std::string_view port = end == text.npos ? "" : text.substr(bracketed ? end + 1 : end);
  const std::optional<std::string> decoded = PercentDecode(host);
  if (!decoded || decoded->empty()) return std::nullopt;
  address.host = *decoded;
  if (!port.empty()) {
    if (!port.starts_with(':')) return std::nullopt;
    port.remove_prefix(1);
    const auto [last, ec] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (ec != std::errc() || last != port.data() + port.size()) return std::nullopt;
  }
  return address;
}

bool ReadUser(std::string_view text, RedisOptions* options) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return false;  // a user without a password has nothing to say
  std::optional<std::string> user = PercentDecode(text.substr(0, colon));
  std::optional<std::string> password = PercentDecode(text.substr(colon + 1));
  if (!user || !password || password->empty()) return false;
  options->user = *std::move(user);
  options->password = *std::move(password);
  return true;
}

}  // namespace

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
  if (options.wait > 0 && options.wait_timeout <= Duration::zero()) {
    return "wait_timeout must be positive";
  }
  if (options.wait > 0 && options.wait_timeout >= options.timeout) {
    return "wait_timeout must be below timeout";
  }
  if (!options.user.empty() && options.password.empty()) return "a user needs a password";
  return std::nullopt;
}

std::optional<std::vector<RedisAddress>> ReadAuthority(std::string_view authority,
                                                       RedisOptions* options) {
  if (const std::size_t at = authority.rfind('@'); at != authority.npos) {
    if (!ReadUser(authority.substr(0, at), options)) return std::nullopt;
    authority.remove_prefix(at + 1);
  }
  std::vector<RedisAddress> addresses;
  while (!authority.empty()) {
    const std::size_t comma = authority.find(',');
    std::optional<RedisAddress> address = ReadAddress(authority.substr(0, comma));
    if (!address) return std::nullopt;
    addresses.push_back(*std::move(address));
    authority.remove_prefix(comma == authority.npos ? authority.size() : comma + 1);
  }
  return addresses;
}

}  // namespace stout::redis
