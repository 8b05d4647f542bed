#include "server/documents.h"

#include <fmt/format.h>

#include <chrono>

namespace stout::docstore {
namespace {

// Returns true if the change will never take effect.
bool IsFinal(ErrorCode ec) {
  return ec == Errc::kRefused || ec == Errc::kTooLarge || ec == Errc::kNotSerialized;
}

}  // namespace

std::optional<http::Response> StoreTrouble(const WatchedStore& store, Duration limit) {
  const StoreHealth health = store.health();
  const auto in_vain = health.InVain(StoreHealth::Clock::now());
  if (in_vain < limit) return std::nullopt;
  const ErrorCode last = health.last_error();
  http::Response response = http::MakeError(
      503,
      fmt::format("the store ({}) has completed no read, or no write, for {} s: {}",
                  store.traits().name,
                  std::chrono::duration_cast<std::chrono::seconds>(in_vain).count(),
                  last ? last.message() : "no call has completed"),
      "check the store and the network to it; this server recovers when the store answers");
  response.retry_after = std::chrono::seconds(1);
  return response;
}

http::Response MakeError(ErrorCode ec, bool changed) {
  if (!changed || IsFinal(ec)) return MakeError(ec);
  return http::MakeError(
      504,
      fmt::format("the change was not confirmed: {}; it may have taken effect, or may yet take "
                  "effect",
                  ec.message()),
      "read the current state, or repeat the request");
}

}  // namespace stout::docstore
