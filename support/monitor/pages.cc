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
  return StoreTrouble(store.traits().name, health.InVain(StoreHealth::Clock::now()), limit,
                      health.last_error(), "no call has ended since");
}

std::optional<http::Response> StoreTrouble(std::string_view name, Duration in_vain, Duration limit,
                                           ErrorCode last, std::string_view otherwise) {
  // It stays so until this program opens the store anew.
  if (last == Errc::kLost) {
    return http::MakeError(
        503, fmt::format("the store ({}) came back and may lack acknowledged changes", name),
        "restart this server: it then serves what the store has");
  }
  if (in_vain < limit) return std::nullopt;
  return http::MakeUnavailable(
      fmt::format(
          "no read, or no write, by this server has succeeded at the store ({}) for {} s: {}", name,
          std::chrono::duration_cast<std::chrono::seconds>(in_vain).count(),
          last ? last.message() : std::string(otherwise)),
      "check the store and the network to it; this server recovers when the store answers");
}

}  // namespace stout::monitor
