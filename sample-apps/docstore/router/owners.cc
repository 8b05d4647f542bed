#include "router/owners.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace stout::docstore {

struct Owners::Subscribers {
  using OnChange = UniqueFunction<void()>;

  // Subscriptions that were dropped go with the next change, or when they are half of all.
  void Add(std::weak_ptr<OnChange> subscriber) {
    const std::lock_guard lock(mutex);
    if (all.size() >= sweep_at) {
      std::erase_if(all, [](const auto& each) { return each.expired(); });
      sweep_at = std::max<std::size_t>(64, 2 * all.size());
    }
    all.push_back(std::move(subscriber));
  }

  void Notify() {
    std::vector<std::shared_ptr<OnChange>> alive;
    {
      const std::lock_guard lock(mutex);
      std::erase_if(all, [](const auto& each) { return each.expired(); });
      for (const auto& each : all) alive.push_back(each.lock());
    }
    // The lock is not held, because a callback may subscribe.
    for (const auto& on_change : alive) {
      if (on_change) (*on_change)();
    }
  }

  std::mutex mutex;
  std::vector<std::weak_ptr<OnChange>> all;
  std::size_t sweep_at = 64;
};

Owners::Owners(LeaseService& service)
    : subscribers_(std::make_unique<Subscribers>()),
      watcher_(service, [this](const auto&) { subscribers_->Notify(); }) {}

Owners::~Owners() = default;

std::optional<Lease> Owners::Of(std::string_view document) const {
  const auto table = watcher_.table();
  if (table->ranges.empty() || !IsHashPartition(table->partition)) return std::nullopt;
  return table->ranges[RangeOf(document, static_cast<RangeId>(table->ranges.size()))];
}

Owners::Subscription Owners::Subscribe(UniqueFunction<void()> on_change) {
  auto subscription = std::make_shared<Subscribers::OnChange>(std::move(on_change));
  subscribers_->Add(subscription);
  return subscription;
}

std::string Owners::WhyForeign() const {
  const auto table = watcher_.table();
  if (table->ranges.empty() || IsHashPartition(table->partition)) return "";
  return fmt::format("the deployment has partition '{}', so its members are no docstore-servers",
                     table->partition);
}

std::size_t Owners::owned() const {
  const auto table = watcher_.table();
  return static_cast<std::size_t>(
      std::count_if(table->ranges.begin(), table->ranges.end(),
                    [](const std::optional<Lease>& lease) { return lease.has_value(); }));
}

}  // namespace stout::docstore
