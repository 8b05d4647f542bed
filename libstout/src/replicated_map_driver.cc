// A ReplicatedMap drives its RangeKeeper and its StrongReads.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <climits>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "replicated_map_state.h"

namespace stout::inline v1 {
using namespace internal;

namespace {

// An answer seems to be later if its age was measured a moment earlier.
constexpr Duration kClockStep = std::chrono::milliseconds(1);

Errc OutcomeOf(const range::Fenced& fenced) { return fenced.errc; }
Errc OutcomeOf(const ReadResult& result) { return result.errc; }
Errc OutcomeOf(const ScanResult& result) { return result.errc; }

}  // namespace

// --- The pump ------------------------------------------------------------------------------------

void ReplicatedMap::State::SchedulePump() {
  if (pump_scheduled_) return;
  boost::asio::post(strand_, [self = shared_from_this()] { self->Pump(); });
  pump_scheduled_ = true;  // only now: if there was no memory, the next call tries again
}

void ReplicatedMap::State::Pump() {
  pump_scheduled_ = false;
  if (abandoned_) End(Errc::kClosed);
  Expire();
  for (Fetched& fetched : std::exchange(fetched_, {})) {
    See(fetched.state.stamp);
    reads_.OnFetched(fetched.token, fetched.member, fetched.errc, std::move(fetched.state));
  }
  const auto turn = [this] {
    do {
      Observe();
      if (ended_ == Errc::kOk) keeper_.Tick(Now());
    } while (Turn());
  };
  turn();
  // Only now: they may change a key, for which each member that gets changes needs an interposer.
  if (auto requests = std::exchange(when_room_, {}); !requests.empty()) {
    for (auto& again : requests) again();
    turn();
  }
  Arm();
  // This is user code: all parts are consistent, and this function holds no iterator.
  RunDue(due_, [this] { SchedulePump(); });
}

// Reports to the keeper the progress of the members since the last call.
void ReplicatedMap::State::Observe() {
  if (ended_ != Errc::kOk) return;
  if (members_.size() != record().members.size()) SyncMembers();
  const TimePoint now = Now();
  for (MemberIndex m = 0; m < members_.size(); ++m) {
    Member& member = members_[m];
    if (const Interposer* const open = member.interposer.get()) {
      const TimePoint read = now - open->SinceRead();
      const TimePoint write = now - open->SinceWrite();
      if (read > member.read + kClockStep) keeper_.OnProgress(m, false, member.read = read);
      if (write > member.write + kClockStep) keeper_.OnProgress(m, true, member.write = write);
    }
    keeper_.SetBusy(m, member.interposer && !member.interposer->IsIdle(), now);
    keeper_.SetDirty(m, member.interposer && member.interposer->HasDirtyKeys(), now);
  }
  ForEachMember(std::exchange(lagging_, 0), [&](MemberIndex m) { keeper_.OnLagging(m, now); });
  ForEachMember(std::exchange(refused_, 0), [&](MemberIndex m) { keeper_.OnRefused(m, now); });
  ForEachMember(std::exchange(lost_, 0), [&](MemberIndex m) { keeper_.OnLost(m, now); });
  ForEachMember(std::exchange(fenced_out_, 0), [&](MemberIndex m) { keeper_.OnFencedOut(m, now); });
}

// Carries out the requests of the parts. Returns false if there are none.
bool ReplicatedMap::State::Turn() {
  bool busy = false;
  for (Action& action : keeper_.TakeActions()) {
    if (ended_ != Errc::kOk) break;
    busy = true;
    std::visit([this](auto& each) { Do(each); }, action);
  }
  for (const RunReply& reply : set_.TakeReplies()) {
    busy = true;
    if ((reply.id & kKeepersOwn) != 0) {
      if (ended_ == Errc::kOk) (void)keeper_.OnReply(reply, Now());
    } else if (auto asked = asked_.extract(reply.id)) {
      due_.push_back({std::move(asked.mapped().reply), reply.errc});
    } else if (auto counting = counting_.extract(reply.id)) {
      Later(std::move(counting.mapped().handler), reply.errc, reply.members);
    }
  }
  if (std::exchange(known_readers_, set_.readers()) != set_.readers()) reads_.OnMembersChanged();
  reads::Effects effects = reads_.TakeEffects();
  busy |= !effects.empty();
  TakeReads(std::move(effects));
  return busy;
}

void ReplicatedMap::State::TakeReads(reads::Effects effects) {
  if (ended_ != Errc::kOk) effects.repairs.clear();  // these reads have failed
  for (reads::Repair& repair : effects.repairs) {
    const Result<Stamp> repaired = Change(repair.key, ValueOf(std::move(repair.state)));
    if (!repaired) reads_.OnRepairRefused(repair.key, ErrcOf(repaired.error()));
  }
  for (const reads::Fetch& fetch : effects.fetches) Fetch(fetch);
  for (reads::Done& done : effects.done) OnRead(done);
}

void ReplicatedMap::State::Fetch(const reads::Fetch& fetch) {
  const MemberIndex m = fetch.member;
  if (!members_[m].interposer) return;  // the member has just left, and the read asks again
  set_.OnReadSent(m);
  FetchOptions options;
  if (const auto asked = fetch_of_.find(fetch.key); asked != fetch_of_.end()) {
    Reading& reading = reading_.at(asked->second);  // otherwise the keeper asks
    reading.asked |= MaskOf(m);
    options = reading.options;
  }
  interposer(m).Fetch(fetch.key, options,
                      [weak = weak_from_this(), m, token = fetch.token,
                       opened = members_[m].opened](ErrorCode ec, StoredState state) {
                        const auto self = weak.lock();
                        if (!self || self->members_[m].opened != opened) return;
                        self->set_.OnReadAnswered(m);
                        self->set_.OnQueueLength(m, self->interposer(m).ReadQueue());
                        self->fetched_.push_back({token, m, ErrcOf(ec), std::move(state)});
                        self->SchedulePump();
                      });
}

void ReplicatedMap::State::Arm() {
  TimePoint next = ended_ == Errc::kOk ? keeper_.NextTick() : kNever;
  TimePoint deadline = kNever;  // the first one
  for (auto asked = asked_.begin(); asked != asked_.end() && deadline == kNever; ++asked) {
    deadline = asked->second.deadline;
  }
  next = std::min(next, deadline);
  for (const auto& [id, counting] : counting_) next = std::min(next, counting.deadline);
  for (const auto& [attempt, call] : calls_) next = std::min(next, call.deadline);
  timer_.Arm(next, [self = shared_from_this()] { self->Pump(); });
}

// --- Calls of stores -----------------------------------------------------------------------------

// Returns the handler of a call of the keeper. The handler passes the answer to `on`, or `unknown`
// if there is no answer in time. A later answer only shows progress. A later answer of a read shows
// nothing, because the keeper has not checked whose data it is. An answer for an earlier life of
// the member shows nothing either, because the member may have another store by then.
template <typename Answer, typename Parameter>
auto ReplicatedMap::State::AnswerTo(MemberIndex m, Attempt attempt,
                                    void (Keeper::*on)(Attempt, Parameter, TimePoint),
                                    Answer unknown) {
  calls_[attempt] = {SaturatingAdd(Now(), engine_.lane.attempt_timeout),
                     [this, attempt, on, unknown = std::move(unknown)] {
                       (keeper_.*on)(attempt, unknown, Now());
                     }};
  const std::pair life(members_[m].opened, members_[m].handle.store);
  return [weak = weak_from_this(), m, life, attempt, on](Answer answer) {
    auto self = weak.lock();
    if (!self) return;
    const Executor strand = self->strand_;
    boost::asio::post(
        strand, [self = std::move(self), m, life, attempt, on, answer = std::move(answer)] {
          if (self->ended_ != Errc::kOk) return;
          self->Observe();
          const TimePoint now = self->Now();
          constexpr bool kWrote = std::is_same_v<Answer, WriteResult>;
          Member& member = self->members_[m];
          const bool awaited = self->calls_.erase(attempt) > 0;
          const bool lives = life == std::pair(member.opened, member.handle.store);
          const bool shows = lives && (awaited || !std::is_same_v<Answer, ReadResult>);
          const Errc outcome = OutcomeOf(answer);
          if (shows && outcome == Errc::kOk)
            self->keeper_.OnProgress(m, kWrote, (kWrote ? member.write : member.read) = now);
          if (lives && outcome == Errc::kLost) self->keeper_.OnLost(m, now);
          if (awaited) (self->keeper_.*on)(attempt, answer, now);
          self->Pump();  // at once: a member may need an interposer before the next change
        });
  };
}

// Returns the store that was fenced. Another store may lack the data of that one.
Store& ReplicatedMap::State::StoreOf(MemberIndex m) const {
  const Handle& handle = members_[m].handle;
  Require(!handle.lifetime.expired(),
          "a ReplicatedMap is used after a store was destroyed: the stores must outlive it");
  return *handle.store;
}

void ReplicatedMap::State::Do(range::Fence& fence) {
  const auto found = stores_.find(record().members[fence.member].datalet);
  // Answered at once: if the store came before a later answer, the keeper would take that for a
  // failure of the store, and leave the member alone for member_timeout.
  if (found == stores_.end()) return keeper_.OnFenced(fence.attempt, {Errc::kTransient}, Now());
  members_[fence.member].handle = found->second;
  auto answer =
      AnswerTo(fence.member, fence.attempt, &Keeper::OnFenced, range::Fenced{Errc::kUnknown});
  Store& store = StoreOf(fence.member);
  store.Fence(
      scope_, epoch(),
      [answer = std::move(answer), incarnation = store.traits().incarnation](ErrorCode ec) mutable {
        answer({ErrcOf(ec), std::move(incarnation)});
      });
}

void ReplicatedMap::State::Do(range::Read& read) {
  const MemberIndex m = read.member;
  const bool identify = is_new_ && !keeper_.serving() && read.keys.front() == identity_key_;
  ReadBatch batch{
      .id = read.attempt, .lane = 0, .keys = std::move(read.keys), .values = read.values};
  auto answer =
      AnswerTo(m, read.attempt, &Keeper::OnRead, ReadResult{.errc = Errc::kUnknown, .states = {}});
  if (identify) return Identify(m, std::move(batch), std::move(answer));
  StoreOf(m).ReadOwned(std::move(batch), std::move(answer));
}

// Gives the first member of a new range its name, before it is read.
void ReplicatedMap::State::Identify(MemberIndex m, ReadBatch read, Store::ReadHandler answer) {
  const std::string identity = record().members[m].Identity();
  StoreOf(m).WriteOwned(BatchOf({{.key = identity_key_, .value = identity}}),
                        [weak = weak_from_this(), m, read = std::move(read),
                         answer = std::move(answer)](const WriteResult& result) mutable {
                          const Errc errc = OutcomeOf(result);
                          if (errc != Errc::kOk) return answer({.errc = errc, .states = {}});
                          auto self = weak.lock();
                          if (!self) return;
                          const Executor strand = self->strand_;
                          boost::asio::post(
                              strand, [self = std::move(self), m, read = std::move(read),
                                       answer = std::move(answer)]() mutable {
                                if (self->ended_ == Errc::kOk && !self->keeper_.serving())
                                  self->StoreOf(m).ReadOwned(std::move(read), std::move(answer));
                              });
                        });
}

WriteBatch ReplicatedMap::State::BatchOf(std::vector<WriteItem> items) const {
  WriteBatch batch;
  batch.epoch = epoch();
  batch.scope = scope_;
  for (const WriteItem& item : items) batch.bytes += item.key.size() + item.value.size();
  batch.items = std::move(items);
  return batch;
}

void ReplicatedMap::State::Do(range::Scan& scan) {
  auto answer = AnswerTo(scan.member, scan.attempt, &Keeper::OnScanned,
                         ScanResult{.errc = Errc::kUnknown, .keys = {}, .cursor = {}});
  scan.request.wanted = contains_;
  StoreOf(scan.member)
      .Scan(scan.request, [contains = contains_, answer = std::move(answer)](ScanResult page) {
        if (contains) {
          std::erase_if(page.keys, [&](const ScannedKey& each) { return !(*contains)(each.key); });
        }
        answer(std::move(page));
      });
}

void ReplicatedMap::State::Do(range::Copy& copy) {
  members_[copy.member].copied += copy.items.size();
  StoreOf(copy.member)
      .WriteOwned(BatchOf(std::move(copy.items)),
                  AnswerTo(copy.member, copy.attempt, &Keeper::OnCopied,
                           WriteResult{.batch = Errc::kUnknown, .items = {}}));
}

// --- The coordinator -----------------------------------------------------------------------------

void ReplicatedMap::State::Do(range::Commit& commit) {
  const Attempt attempt = commit.attempt;
  calls_[attempt] = {SaturatingAdd(Now(), engine_.lane.attempt_timeout),
                     [this, attempt] { keeper_.OnCommitted(attempt, Errc::kUnknown, {}, Now()); }};
  commit_(std::move(commit.change),
          [weak = weak_from_this(), attempt](ErrorCode ec, ChangeAnswer answer) {
            auto self = weak.lock();
            if (!self) return;
            const Executor strand = self->strand_;
            boost::asio::post(strand, [self = std::move(self), attempt, ec, answer] {
              if (self->ended_ != Errc::kOk || self->calls_.erase(attempt) == 0) return;
              self->Observe();
              self->keeper_.OnCommitted(attempt, ErrcOf(ec), answer, self->Now());
              self->Pump();  // at once, as above
            });
          });
}

void ReplicatedMap::State::Do(range::Serve&) {
  for (Reply& done : std::exchange(opens_, {})) Later(std::move(done), {});
}

void ReplicatedMap::State::Do(range::Unfillable& failed) {
  if (!on_unfillable_) return;
  Report([report = on_unfillable_, datalet = record().members[failed.member].datalet, failed] {
    report(datalet, failed.key, failed.errc);
  });
}

void ReplicatedMap::State::Do(range::Revert& reverted) {
  if (!on_reverted_) return;
  Report([report = on_reverted_, datalet = record().members[reverted.member].datalet] {
    report(datalet);
  });
}

void ReplicatedMap::State::Do(range::GiveUp& given_up) {
  End(Errc::kFenced);
  if (auto give_up = std::exchange(on_given_up_, {})) {
    Report([give_up = std::move(give_up), cause = given_up.cause]() mutable { give_up(cause); });
  }
}

// A handler that runs before may destroy the map, which then calls nothing of its user any more.
void ReplicatedMap::State::Report(UniqueFunction<void()> report) {
  Later(
      [this, report = std::move(report)](ErrorCode) mutable {
        if (!abandoned_) report();
      },
      {});
}

// --- The map's own parts -------------------------------------------------------------------------

void ReplicatedMap::State::Do(range::Open& open) {
  const MemberIndex m = open.member;
  Member& member = members_[m];
  EngineOptions options = engine_;
  if (options.seed != 0) options.seed += m;
  // Users keep this room free for the map, and lose none to what the map holds.
  options.max_replies = std::min(options.max_replies + 2 * kOwnReplies, std::size_t{INT_MAX});
  member.interposer = std::make_unique<Interposer>(
      Interposer::OnStrand(), strand_, StoreOf(m),
      Application{
          .serialize = [this](KeyView key,
                              std::string& out) { return values_.Serialize(key, out); },
          .on_refused = [this, m](KeyView key,
                                  ErrorCode ec) { OnRefused(m, key, ec == Errc::kUnknown); },
          .on_fenced =
              [this, m](LaneId) {
                fenced_out_ |= MaskOf(m);
                SchedulePump();
              },
          .on_lost =
              [this, m] {
                lost_ |= MaskOf(m);
                Observe();  // at once: its interposer takes nothing any more
                SchedulePump();
              }},
      std::move(options));
  ++member.opened;
  (void)member.interposer->OpenFenced(scope_, epoch());
}

void ReplicatedMap::State::Do(range::Shut& shut) {
  Member& member = members_[shut.member];
  ++member.opened;
  member.interposer.reset();
  member.handle = {};
  member.barrier = member.next_barrier = {};
  member.next_refused = false;
}

// No barrier may cover a refused change. Until the former state is put back, the change is dirty at
// no member, and the members differ.
void ReplicatedMap::State::Do(range::Barrier& barrier) {
  const auto is_refused = [](const auto& each) { return each.second.refused != 0; };
  const bool differ = refused_ != 0 || std::any_of(refusals_.begin(), refusals_.end(), is_refused);
  ForEachMember(barrier.members, [&](MemberIndex m) {
    differ ? set_.OnReply(barrier.id, m, Errc::kTransient) : AwaitBarrier(m, barrier.id);
  });
}

// A key that is dirty at lazy members alone may have changed before the target got all changes.
void ReplicatedMap::State::Do(range::Settle& settle) {
  if (IsDirty(settle.key, set_.lazy())) {
    keeper_.OnSettled(settle.id, Errc::kOk, true, {}, Now());
  } else {
    reads_.Read(settle.key, settle.id);
  }
}

void ReplicatedMap::State::Do(range::Change& change) {
  const Result<Stamp> changed =
      Change(change.key, ValueOf(std::move(change.state)), change.members);
  keeper_.OnChanged(change.attempt, changed ? Errc::kOk : ErrcOf(changed.error()), Now());
}

}  // namespace stout::inline v1
