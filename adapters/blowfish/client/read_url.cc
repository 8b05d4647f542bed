#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "resp/client/address.h"
#include "stout/adapters/blowfish_store.h"
#include "stout/adapters/store_url.h"

namespace stout {

Result<BlowfishStore::Options> BlowfishStore::ReadUrl(const StoreUrl& url,
                                                      Diagnostics* diagnostics) {
  constexpr std::chrono::milliseconds kShortest{1};
  constexpr std::uint16_t kNodePort = 7001;
  Options options;
  options.is_node = url.scheme == "stout";
  options.detect_loss = options.is_node;
  if (options.is_node) options.port = kNodePort;
  UrlOptionReader reader(url);
  reader.Count("connections", options.connections, 1, 1000);
  reader.Count("read_connections", options.read_connections, 1, 1000);
  reader.Duration("timeout", options.timeout, kShortest);
  reader.Duration("connect_timeout", options.connect_timeout, kShortest);
  reader.Flag("detect_loss", options.detect_loss);
  reader.Count("max_queue", options.max_queue, 1, std::size_t{1} << 30);
  std::optional<std::string> error = reader.Finish();
  auto authority = resp::ReadAuthority(url.authority, options.port);
  if (!error && (!authority || authority->addresses.size() != 1)) {
    error = fmt::format("a {}: URL names one server", url.scheme);
  }
  if (!error && !url.path.empty() && url.path != "/") {
    error = fmt::format("a {}: URL has no path: a server has one database", url.scheme);
  }
  if (error) return BadUrl(*error, options.is_node ? kNodeUrlSyntax : kUrlSyntax, diagnostics);
  options.host = std::move(authority->addresses.front().host);
  options.port = authority->addresses.front().port;
  options.user = std::move(authority->user);
  options.password = std::move(authority->password);
  return options;
}

}  // namespace stout
