#include "registration.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "stout/adapters/store_url.h"
#include "stout/clock.h"

namespace stout {
namespace {

// Pause between two attempts.
constexpr auto kAttemptPause = std::chrono::seconds(1);

// Returns why a datalet cannot be added, or nullopt.
std::optional<std::string> WhyNotAdded(const OwnDatalet& own, const RegistryTable& records) {
  if (auto why = WhyInvalid(AddDatalet(own.id, own.datalet, 0))) return why;
  const auto damaged = records.damaged.find("datalet/" + own.id);
  if (damaged != records.damaged.end()) return damaged->second.value;
  const auto found = records.datalets.find(own.id);
  if (found == records.datalets.end()) return std::nullopt;
  const Datalet& there = found->second.value;
  const bool same = own.store != nullptr ? there.node == own.datalet.node  // our former session's
                                         : there.url == own.datalet.url;
  if (same) return std::nullopt;
  if (there.node.empty()) {
    return fmt::format(
        "the store at {} has this id: give each store an id of its own (--datalet-id)",
        Redacted(there.url));
  }
  return fmt::format(
      "the store of node '{}' has this id: give each store an id of its own (--datalet-id). If "
      "that "
      "node has ended, this one goes on when the session of that node is over",
      there.node);
}

}  // namespace

void Registration::Bring(std::vector<OwnDatalet> own) {
  for (OwnDatalet& each : own) {
    own_.push_back({std::move(each), std::make_shared<std::atomic<SessionId>>(0)});
  }
}

void Registration::Tick(const RegistryTable& records, SessionId session, TimePoint now) {
  // The registry keeps the configuration for ever. If it has none, it has lost all records.
  const bool has_records = records.config || records.damaged.contains("config");
  for (Own& own : own_) {
    const SessionId registered = *own.registered;
    const bool lasts = own.datalet.store == nullptr && registered != 0 && has_records;
    const bool lacks = registered != session || !records.datalets.contains(own.datalet.id);
    if (lacks && !lasts && now >= own.due) Add(own, records, session, now);
    if (own.datalet.store == nullptr && now >= own.due) RemoveDouble(own, records, now);
  }
  RemoveLeft(records, now);
}

void Registration::Add(Own& own, const RegistryTable& records, SessionId session, TimePoint now) {
  OwnDatalet& brought = own.datalet;
  if (const auto why = WhyNotAdded(brought, records)) {
    if (!std::exchange(own.complained, true)) spdlog::error("datalet {}: {}", brought.id, *why);
    return;
  }
  const auto found = records.datalets.find(brought.id);
  const bool there = found != records.datalets.end();
  // Another server has brought it, perhaps under another id.
  const bool brought_already =
      std::any_of(records.datalets.begin(), records.datalets.end(),
                  [&](const auto& each) { return each.second.value.url == brought.datalet.url; });
  if (brought.store == nullptr && brought_already) {
    *own.registered = session;
    return;
  }
  own.due = now + kAttemptPause;
  brought.datalet.since = UnixTime();
  RegistryChange change =
      AddDatalet(brought.id, brought.datalet, brought.store != nullptr ? session : 0);
  change.read = there ? found->second.revision : 0;
  registry_.Change(std::move(change), [registered = own.registered, session](
                                          ErrorCode ec, const ChangeAnswer& answer) {
    if (!ec && answer.outcome == ChangeOutcome::kDone) *registered = session;
  });
}

// Nodes that start together may add one store under two ids. The later one goes.
void Registration::RemoveDouble(Own& own, const RegistryTable& records, TimePoint now) {
  const auto ours = records.datalets.find(own.datalet.id);
  if (ours == records.datalets.end()) return;
  const Datalet& datalet = ours->second.value;
  if (datalet.url != own.datalet.datalet.url || datalet.leaving) return;
  const auto is_earlier = [&](const auto& each) {
    const auto& [id, other] = each;
    return other.value.url == datalet.url && !other.value.leaving &&
           std::tie(other.value.since, id) < std::tie(datalet.since, ours->first);
  };
  const auto kept = std::find_if(records.datalets.begin(), records.datalets.end(), is_earlier);
  if (kept == records.datalets.end()) return;
  own.due = now + kAttemptPause;
  spdlog::warn("datalet {}: another node has added its store as datalet {}: this one is removed",
               ours->first, kept->first);
  Datalet leaving = datalet;
  leaving.leaving = true;
  RegistryChange change = AddDatalet(ours->first, std::move(leaving), 0);
  change.read = ours->second.revision;
  registry_.Change(std::move(change), [](ErrorCode, const ChangeAnswer&) {});
}

// The first attempt comes after a pause: until then an owner may still be filling the datalet.
void Registration::RemoveLeft(const RegistryTable& records, TimePoint now) {
  std::map<std::string, TimePoint> removals;
  for (const auto& [id, datalet] : records.datalets) {
    if (!datalet.value.leaving || MayBeIn(records, id)) continue;
    const auto waiting = removals_.find(id);
    TimePoint& due = removals[id];
    due = waiting != removals_.end() ? waiting->second : now + kAttemptPause;
    if (now < due) continue;
    due = now + kAttemptPause;
    RegistryChange change = RemoveDatalet(id);
    change.read = datalet.revision;  // STOUT.DATALET ADD may take it back
    registry_.Change(std::move(change), [](ErrorCode, const ChangeAnswer&) {});
  }
  removals_ = std::move(removals);
}

}  // namespace stout
