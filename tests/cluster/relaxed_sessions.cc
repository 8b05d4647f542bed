// The sessions of a ClusterWorld that read at members, without the range's owner.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "tests/cluster/cluster_world.h"

namespace stout::sim {

using namespace std::chrono_literals;
using Kind = test::Operation::Kind;
using Outcome = test::Operation::Outcome;

// Each node is told of each change of the record, in time or late.
void ClusterWorld::TellRecord() {
  for (std::uint32_t id = 0; id < options_.nodes; ++id) {
    const bool is_late = options_.mistake == Mistake::kLateWriters || read_random_.Chance(100);
    const Duration late = is_late ? options_.ttl * 2 : Duration::zero();
    agenda_.Push(now() + read_random_.Between(options_.min_latency, options_.max_latency + late),
                 [this, id, record = registry_.record(), revision = registry_.revision()] {
                   Node& node = nodes_[id];
                   if (revision <= node.seen_revision) return;
                   node.seen = record;
                   node.seen_revision = revision;
                   Deliver(id, node.boot, [this, id] { FollowSharing(id); });
                 });
  }
}

void ClusterWorld::AskRelaxed() {
  Session& session = sessions_[read_random_.Below(sessions_.size())];
  const bool moves = read_random_.Chance(20) || session.boot != nodes_[session.node].boot;
  if (session.reads == nullptr || moves) {
    const auto node = static_cast<std::uint32_t>(read_random_.Below(options_.nodes));
    // A client that goes on at another node takes its token along.
    session = {.node = node,
               .boot = nodes_[node].boot,
               .serial = session.serial,
               .causal = session.serial == 0 ? read_random_.Chance(500) : session.causal,
               .token = session.token,
               .seen = session.seen,
               .causes = session.causes};
    session.reads = std::make_unique<internal::RelaxedReads>(read_random_.Below(1000));
  }
  Node& node = nodes_[session.node];
  if (!node.up || node.paused_until > now()) return;
  const std::string local = options_.has_local ? DataletName(session.node) : "";
  if (options_.mistake == Mistake::kSessionHops) session.reads->Forget();
  const RangeRecord::Member* const member = session.reads->Choose(
      kRange, node.seen, local, [this](const std::string&) -> std::optional<std::size_t> {
        if (read_random_.Chance(50)) return std::nullopt;
        return read_random_.Below(3);
      });
  if (member == nullptr) return;  // the owner is asked
  if (session.member != member->datalet && !IsIn(node.seen, session.member)) session.shown.clear();
  RelaxedRead read{.session = static_cast<std::size_t>(&session - sessions_.data()),
                   .serial = ++session.serial,
                   .member = *member,
                   .key = fmt::format("k{}", read_random_.Below(options_.keys)),
                   .asked = now(),
                   .asked_by_clock = Now(session.node),
                   .seen = session.seen,
                   .swept = node.seen.swept};
  if (!session.causal && read_random_.Chance(500)) read.staleness = read_random_.Between(1ms, 60ms);
  const auto latency = [this] {
    return read_random_.Between(options_.min_latency, options_.max_latency);
  };
  agenda_.Push(now() + latency(), [this, read, latency]() mutable {
    const Session& asking = sessions_[read.session];
    const std::size_t m = DataletOf(read.member.datalet);
    if (!datalets_[m].up || nodes_[asking.node].cut_until[m] > now()) return;
    read.identity = datalets_[m].state(kIdentityKey);
    read.mark = datalets_[m].state(kMarkKey);
    read.state = datalets_[m].state(read.key);
    read.life = datalets_[m].NameOfLife();
    const auto shown = asking.shown.find(read.key);
    read.goes_back = shown != asking.shown.end() && read.state.stamp < shown->second &&
                     !IsForgotten(read.key, m, shown->second);
    read.is_stale = read.staleness && LacksWrite(read, m, read.asked - *read.staleness);
    read.lacks_cause =
        asking.causal && (LacksWrite(read, m, read.seen) || LacksShown(asking, read, m));
    agenda_.Push(now() + latency(), [this, read] {
      Deliver(sessions_[read.session].node, sessions_[read.session].boot,
              [this, read] { OnRelaxed(read); });
    });
  });
}

void ClusterWorld::OnRelaxed(const RelaxedRead& read) {
  Session& session = sessions_[read.session];
  if (read.serial != session.serial) return;
  const bool ignores = options_.mistake == Mistake::kIdentityIgnored;
  if (!session.reads->Accept(kRange, read.member, read.life, read.identity) && !ignores) return;
  if (!ShowsAll(session, read)) {  // the owner is asked
    const auto owner = AnyOwner();
    if (owner) nodes_[*owner].owner->RefreshMark();
    return;
  }
  ++counts_.relaxed;
  counts_.bounded += read.staleness ? 1 : 0;
  counts_.causal += session.causal ? 1 : 0;
  trace_.Add(now(), "relaxed", read.session, read.state.stamp.epoch, read.state.stamp.version,
             read.key + "@" + read.member.datalet);
  if (read.goes_back) {
    return verdict_.Fail(
        fmt::format("the reads of session {} go back at {}", read.session, read.key));
  }
  if (read.is_stale) {
    return verdict_.Fail(
        fmt::format("session {} reads {} staler than it allows", read.session, read.key));
  }
  if (read.lacks_cause) {
    return verdict_.Fail(fmt::format("session {} reads {} older than what it has seen depends on",
                                     read.session, read.key));
  }
  NoteShown(session, read);
  session.member = read.member.datalet;
  session.shown[read.key] = read.state.stamp;
  if (options_.mistake != Mistake::kRelaxedJudgedAsSc) return;
  test::Operation operation{.client = options_.clients + static_cast<std::uint32_t>(read.session),
                            .key = read.key};
  if (read.state.found) operation.value = read.state.value;
  operation.call_ns = Nanoseconds(read.asked);
  operation.return_ns = Nanoseconds(now());
  operation.outcome = Outcome::kOk;
  history_.push_back(std::move(operation));
}

bool ClusterWorld::ShowsAll(const Session& session, const RelaxedRead& read) const {
  const Mark mark = internal::RelaxedReads::MarkOf(read.mark);
  if (session.causal) {
    const Epoch swept = options_.mistake == Mistake::kUnsweptTrusted ? mark.epoch : read.swept;
    return session.token.Accepts(mark, swept) || options_.mistake == Mistake::kCausesIgnored;
  }
  return !read.staleness || read.asked_by_clock - mark.time <= *read.staleness ||
         options_.mistake == Mistake::kStalenessIgnored;
}

void ClusterWorld::NoteShown(Session& session, const RelaxedRead& read) {
  const Mark known = internal::RelaxedReads::MarkOf(read.mark);
  const Mark mark = options_.mistake == Mistake::kNewStatesTrusted
                        ? Mark{.epoch = ~Epoch{0}, .time = known.time}
                        : known;
  session.token.OnMember(read.state.stamp, mark, Now(session.node));
  session.causes[read.key] = read.state;
  const auto writer = writer_.find(read.state.value);
  if (!read.state.found || writer == writer_.end()) return;
  const TimePoint written(std::chrono::nanoseconds(history_[writer->second].call_ns));
  session.seen = std::max(session.seen, written);
}

// The state is older than one that another member has shown to the session, by a former owner.
// Clocks that differ may hide a state of the same owner. A state that no member has was lost with
// its owner. A fill gives the target's copy of a state a newer stamp than the source has, so a
// state that shows the same is not older.
bool ClusterWorld::LacksShown(const Session& session, const RelaxedRead& read,
                              std::size_t member) const {
  const auto cause = session.causes.find(read.key);
  if (cause == session.causes.end()) return false;
  const Stamp shown = cause->second.stamp;
  const bool shows_the_same =
      read.state.found == cause->second.found && read.state.value == cause->second.value;
  const Mark mark = internal::RelaxedReads::MarkOf(read.mark);
  if (shows_the_same || shown.epoch >= mark.epoch || read.state.stamp >= shown) return false;
  if (IsForgotten(read.key, member, shown)) return false;
  return std::ranges::any_of(registry_.record().members, [&](const RangeRecord::Member& other) {
    const std::size_t m = DataletOf(other.datalet);
    return other.in && datalets_[m].Has(other) && datalets_[m].state(read.key).stamp >= shown;
  });
}

// The state lacks a write that was acknowledged before this time.
bool ClusterWorld::LacksWrite(const RelaxedRead& read, std::size_t member, TimePoint before) const {
  Duration skew = widest_;  // drift lets it grow
  for (std::uint32_t a = 0; a < options_.nodes; ++a) {
    for (std::uint32_t b = 0; b < options_.nodes; ++b) {
      const Duration apart = nodes_[a].offset - nodes_[b].offset;
      skew = std::max({skew, Now(a) - Now(b), apart});
    }
  }
  const auto writes = acknowledged_.find(read.key);
  if (writes == acknowledged_.end()) return false;
  return std::any_of(writes->second.begin(), writes->second.end(), [&](const Acknowledged& write) {
    const bool counts = write.by_all || write.stamp.epoch == newest_epoch_;
    return counts && write.at < before - skew && read.state.stamp < write.stamp &&
           !IsForgotten(read.key, member, write.stamp);
  });
}

// A member that has just left counts as well: its owner may not know yet.
void ClusterWorld::CheckLevel(std::size_t write, std::uint32_t level) {
  const std::string& key = history_[write].key;
  const Stamp stamp = changed_.at(write);
  std::uint32_t have = 0;
  bool all = true;
  for (const RangeRecord::Member& member : registry_.record().members) {
    const std::size_t m = DataletOf(member.datalet);
    const bool lost = member.in && !datalets_[m].Has(member);  // since it answered
    const bool has = lost || datalets_[m].state(key).stamp >= stamp || IsForgotten(key, m, stamp);
    have += has ? 1 : 0;
    all &= has || !member.in;
  }
  if (level == 0 ? all : have >= level) return;
  verdict_.Fail(fmt::format("write {} is at {} members, which is below its level", write, have));
}

}  // namespace stout::sim
