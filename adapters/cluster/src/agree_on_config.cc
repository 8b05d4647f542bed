#include <fmt/format.h>

#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "stout/adapters/member_ranges.h"
#include "stout/adapters/store_url.h"

namespace stout {
namespace {

constexpr auto kConfigPause = std::chrono::milliseconds(200);

template <typename... Answer, typename Call>
std::tuple<ErrorCode, Answer...> Wait(Call call) {
  std::promise<std::tuple<ErrorCode, Answer...>> promise;
  call([&promise](ErrorCode ec, Answer... answer) {
    promise.set_value({ec, std::move(answer)...});
  });
  return promise.get_future().get();
}

}  // namespace

Result<ClusterConfig> AgreeOnConfig(Registry& registry, const ClusterConfig& wanted,
                                    const std::function<void(ClusterConfig& kept)>& given,
                                    Diagnostics* diagnostics, int attempts) {
  ErrorCode failed = Errc::kTransient;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(kConfigPause);
    const auto [unread, table] =
        Wait<RegistryTable>([&](auto handler) { registry.Read(std::move(handler)); });
    if (unread) {
      failed = unread;
      continue;
    }
    if (const auto damaged = table.damaged.find("config"); damaged != table.damaged.end()) {
      return Fail(Errc::kCorrupt, damaged->second.value, diagnostics);
    }
    if (table.config) {
      const ClusterConfig& kept = table.config->value;
      ClusterConfig asked = kept;
      given(asked);
      const auto why = WhyRefused(asked, kept);
      if (why) return Fail(Errc::kBadOptions, *why, diagnostics);
      return kept;
    }
    if (const auto why = WhyInvalid(wanted)) return Fail(Errc::kBadOptions, *why, diagnostics);
    const auto [unwritten, answer] = Wait<ChangeAnswer>(
        [&](auto handler) { registry.Change(ChangeConfig(wanted, 0), std::move(handler)); });
    if (!unwritten && answer.outcome == ChangeOutcome::kDone) return wanted;
    if (unwritten) failed = unwritten;
  }
  return Fail(Errc::kTransient, fmt::format("the registry does not answer: {}", failed.message()),
              diagnostics);
}

}  // namespace stout
