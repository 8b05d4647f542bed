#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>

#include "ask_registry.h"
#include "stout/adapters/member_ranges.h"
#include "stout/adapters/store_url.h"

namespace stout {
namespace {

constexpr auto kRegistryPause = std::chrono::milliseconds(200);

}  // namespace

ErrorCode AskRegistry(int attempts, const std::function<ErrorCode()>& ask,
                      Diagnostics* diagnostics) {
  ErrorCode failed = Errc::kTransient;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(kRegistryPause);
    failed = ask();
    if (!failed) return {};
  }
  std::string why = "the lease service does not answer";
  // The text of kTransient is about stores.
  if (failed != Errc::kTransient) why += ": " + failed.message();
  return Fail(Errc::kTransient, std::move(why), diagnostics);
}

Result<ClusterConfig> AgreeOnConfig(Registry& registry, const ClusterConfig& wanted,
                                    const std::function<void(ClusterConfig& kept)>& given,
                                    Diagnostics* diagnostics, int attempts) {
  Result<ClusterConfig> agreed = Errc::kTransient;
  const auto ask = [&]() -> ErrorCode {
    const auto [unread, table] =
        Wait<RegistryTable>([&](auto handler) { registry.Read(std::move(handler)); });
    if (unread) return unread;
    if (const auto damaged = table.damaged.find("config"); damaged != table.damaged.end()) {
      agreed = Fail(Errc::kCorrupt, damaged->second.value, diagnostics);
      return {};
    }
    if (table.config) {
      const ClusterConfig& kept = table.config->value;
      ClusterConfig asked = kept;
      given(asked);
      agreed = kept;
      if (const auto why = WhyRefused(asked, kept))
        agreed = Fail(Errc::kBadOptions, *why, diagnostics);
      return {};
    }
    if (const auto why = WhyInvalid(wanted)) {
      agreed = Fail(Errc::kBadOptions, *why, diagnostics);
      return {};
    }
    const auto [unwritten, answer] = Wait<ChangeAnswer>(
        [&](auto handler) { registry.Change(ChangeConfig(wanted, 0), std::move(handler)); });
    if (unwritten) return unwritten;
    if (answer.outcome != ChangeOutcome::kDone) return Errc::kTransient;
    agreed = wanted;
    return {};
  };
  if (const ErrorCode failed = AskRegistry(attempts, ask, diagnostics)) return failed;
  return agreed;
}

}  // namespace stout
