#include "monitor/pages.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>

#include "monitor/live_page.h"

namespace stout::monitor {

http::Response MakeLivePage() {
  static const auto page = std::make_shared<const std::string>(kLivePage);
  http::Response response;
  response.content_type = "text/html; charset=utf-8";
  response.body = page;
  response.fields = {{"Content-Security-Policy", std::string(kLivePagePolicy)}};
  return response;
}

std::optional<http::Response> StoreTrouble(const WatchedStore& store, Duration limit) {
  const StoreHealth health = store.health();
  const ErrorCode last = health.last_error();
  return StoreTrouble(store.traits().name, health.InVain(StoreHealth::Clock::now()), limit,
                      last ? last.message() : "no call has ended since");
}

std::optional<http::Response> StoreTrouble(std::string_view name, Duration in_vain, Duration limit,
                                           std::string_view why) {
  if (in_vain < limit) return std::nullopt;
  http::Response response = http::MakeError(
      503,
      fmt::format(
          "no read, or no write, by this server has succeeded at the store ({}) for {} s: {}", name,
          std::chrono::duration_cast<std::chrono::seconds>(in_vain).count(), why),
      "check the store and the network to it; this server recovers when the store answers");
  response.retry_after = std::chrono::seconds(1);
  return response;
}

}  // namespace stout::monitor
