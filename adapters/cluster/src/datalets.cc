#include "datalets.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "stout/adapters/store_url.h"
#include "stout/core/range_actions.h"

namespace stout {
namespace {

// Pause between two questions to a store that is open, and before the second attempt to open one.
// The pauses between attempts grow to kLongestPause.
constexpr auto kQuestionPause = std::chrono::seconds(1);
constexpr auto kLongestPause = std::chrono::seconds(5);
// Likewise for a store that has left the registry: it may be gone for ever.
constexpr auto kLongestPauseOfGone = std::chrono::minutes(1);
// A poll that is this much later than the last is late.
constexpr auto kLate = std::chrono::milliseconds(200);

Datalets::Clock::duration OpenPause(int attempts, bool registered) {
  return std::min<Datalets::Clock::duration>(attempts * kQuestionPause,
                                             registered ? kLongestPause : kLongestPauseOfGone);
}

// Asks a store whether it is there, and still has what it had.
void Ask(WatchedStore& store) {
  if (store.health().NeedsProbe()) return store.ProbeIfNeeded();
  store.ReadOwned({.id = 1, .lane = 0, .keys = {std::string(internal::kInternalKeys)}},
                  [](const ReadResult&) {});
}

// The stores that it opens know the tenants.
DataletOpener Obeying(DataletOpener open, std::shared_ptr<const Tenants> tenants) {
  if (tenants == nullptr) return open;
  return [open = std::move(open), tenants = std::move(tenants)](const std::string& url,
                                                                Diagnostics* why) {
    auto store = open(url, why);
    if (store) (*store)->Obey(tenants);
    return store;
  };
}

}  // namespace

Datalets::Datalets(const DataletOpener& open, std::shared_ptr<const Tenants> tenants)
    : open_(Obeying(open, std::move(tenants))) {}

const char* WhyUnsuited(const StoreTraits& traits) {
  // It could lose an acknowledged write without notice.
  if (!traits.durable && !traits.detects_loss)
    return "it is not durable: add detect_loss=true to its URL, so that a loss is noticed";
  if (!traits.compares_stamps) return "it compares no stamps, as it is opened";
  if (!traits.fences) return "it has no fences, as it is opened";
  if (!traits.scans) return "it cannot list its keys, as it is opened";
  if (!traits.opaque_values) return "its schema does not take every value";
  if (traits.tombstone_ttl < ReplicatedMapOptions().tombstone_ttl)
    return "it forgets deletes too soon: give it a tombstone_ttl of at least 1h; a Redis with "
           "maxmemory also needs maxmemory-policy noeviction";
  return nullptr;
}

Datalets::~Datalets() {
  opener_.stop();
  opener_.join();
}

void Datalets::Add(const std::string& id, Store& store, std::string node) {
  const std::lock_guard lock(mutex_);
  own_[id] = {&store, std::move(node)};
  AddOwn(id, store);
}

void Datalets::AddOwn(const std::string& id, Store& store) {
  const auto [found, is_new] = entries_.try_emplace(id);
  Entry& entry = found->second;
  if (!is_new && entry.url.empty()) return;
  entry = {.opening = entry.opening};
  Watch(entry, store);
}

void Datalets::Watch(Entry& entry, Store& store) {
  watched_.push_back(std::make_unique<WatchedStore>(store));
  shared_.push_back(std::make_unique<SharedScans>(*watched_.back()));
  entry.store = watched_.back().get();
  entry.for_ranges = shared_.back().get();
  changed_ = true;
}

void Datalets::Learn(const std::map<std::string, Recorded<Datalet>>& present) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, entry] : entries_) {
    const bool registered = entry.url.empty() || present.contains(id);
    if (!std::exchange(entry.registered, registered) && registered) entry.due = {};  // it is back
    entry.lazy = false;
  }
  for (const auto& [id, datalet] : present) {
    const auto own = own_.find(id);
    const bool is_own = own != own_.end() && own->second.node == datalet.value.node;
    is_own ? AddOwn(id, *own->second.store) : Add(id, datalet.value.url);
    entries_[id].lazy = datalet.value.lazy && !datalet.value.leaving;
  }
}

void Datalets::Add(const std::string& id, const std::string& url) {
  const auto [found, is_new] = entries_.try_emplace(id);
  Entry& entry = found->second;
  if (!is_new && entry.url == url) return;
  entry.url = url;
  entry.store = nullptr;
  entry.complained = false;
  OpenNow(id, entry);
}

bool Datalets::Poll(Duration limit) {
  std::unique_lock lock(mutex_);
  const auto now = Clock::now();
  // While this process did not run, no answer could come.
  const auto late = now - std::exchange(polled_, now) - std::max<Duration>(limit / 4, kLate);
  std::vector<WatchedStore*> asked;
  for (auto& [id, entry] : entries_) {
    if (entry.store == nullptr) {
      if (!entry.opening && now >= entry.due) OpenNow(id, entry);
      continue;
    }
    const StoreHealth health = entry.store->health();
    const Duration in_vain = health.InVain(now);
    const bool ended = !entry.registered && health.last_error();
    entry.forgiven += std::max(late, Clock::duration::zero());
    if (in_vain == Duration::zero()) entry.forgiven = {};
    const bool silent = ended || in_vain - entry.forgiven >= limit;
    if (std::exchange(entry.silent, silent) != silent) {
      spdlog::warn("datalet {} {}", id, silent ? "does not answer" : "answers again");
      changed_ = true;
    }
    if (!entry.url.empty() && health.last_error() == Errc::kLost) {
      spdlog::warn("datalet {} has lost what it had", id);
      entry.store = nullptr;
      entry.silent = false;
      entry.due = now + OpenPause(entry.attempts, entry.registered);
      changed_ = true;
    } else if (now >= entry.due && (in_vain == Duration::zero() || health.NeedsProbe())) {
      if (in_vain == Duration::zero()) entry.attempts = 0;
      entry.due = now + kQuestionPause;
      if (!entry.registered)
        entry.due = now + std::clamp<Duration>(in_vain, kQuestionPause, kLongestPauseOfGone);
      asked.push_back(entry.store);
    }
  }
  const bool changed = std::exchange(changed_, false);
  std::vector<SharedScans*> shared;
  for (const auto& each : shared_) shared.push_back(each.get());
  lock.unlock();
  for (WatchedStore* const store : asked) Ask(*store);
  for (SharedScans* const each : shared) each->StartGathered();
  return changed;
}

void Datalets::OpenNow(const std::string& id, Entry& entry) {
  if (std::exchange(entry.opening, true)) return;
  ++entry.attempts;
  boost::asio::post(opener_, [this, id, url = entry.url] {
    Diagnostics why;
    auto store = open_(url, &why);
    OnOpened(id, url, std::move(store), why.message);
  });
}

void Datalets::OnOpened(const std::string& id, const std::string& url,
                        Result<std::unique_ptr<Store>> store, const std::string& why) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[id];
  entry.opening = false;
  entry.due = Clock::now() + OpenPause(entry.attempts, entry.registered);
  if (entry.url.empty()) return;  // it is our own by now
  if (entry.url != url) return OpenNow(id, entry);
  const char* const unsuited = store ? WhyUnsuited((*store)->traits()) : nullptr;
  if (!store || unsuited != nullptr) {
    if (!std::exchange(entry.complained, true)) {
      spdlog::warn("datalet {} at {} cannot be used: {}; trying again", id, Redacted(url),
                   store ? unsuited : why);
    }
    return;
  }
  spdlog::info("datalet {} at {} is open", id, Redacted(url));
  entry.complained = false;
  stores_.push_back(*std::move(store));
  Watch(entry, *stores_.back());
}

std::vector<Replica> Datalets::Replicas() const {
  const std::lock_guard lock(mutex_);
  std::vector<Replica> replicas;
  for (const auto& [id, entry] : entries_) {
    const bool usable = entry.store != nullptr && (!entry.silent || entry.lazy);
    replicas.push_back({.datalet = id,
                        .store = usable ? entry.for_ranges : nullptr,
                        .silent = entry.silent,
                        .lazy = entry.lazy});
  }
  return replicas;
}

Store* Datalets::StoreOf(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  return found != entries_.end() && !found->second.silent ? found->second.store : nullptr;
}

// One store that answers is enough to serve, unless it is lazy.
Datalets::Clock::duration Datalets::InVain() const {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  auto least = Clock::duration::max();
  for (const auto& [id, entry] : entries_) {
    if (entry.store != nullptr && !entry.lazy)
      least = std::min(least, entry.store->health().InVain(now));
  }
  return least == Clock::duration::max() ? Clock::duration::zero() : least;
}

}  // namespace stout
