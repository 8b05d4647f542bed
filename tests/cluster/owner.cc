#include "tests/cluster/owner.h"

#include <algorithm>
#include <variant>

namespace stout::sim {
namespace {

Recorded<RangeRecord> Adapt(Recorded<RangeRecord> record, Mistake mistake) {
  if (mistake == Mistake::kUnsettledShown) record.value.swept = Epoch{1} << 60;
  return record;
}

Epoch EpochOf(const RangeRecord& record, Epoch lease) {
  return record.shared != 0 ? record.shared : lease;
}

RangeKeeperOptions KeeperOf(const ClusterOptions& options, Epoch lease, bool only_writes) {
  RangeKeeperOptions keeper = options.keeper;
  keeper.lease = lease;
  keeper.only_writes = only_writes;
  if (options.mistake == Mistake::kMergeTooLate) keeper.tombstone_ttl = std::chrono::hours(24);
  return keeper;
}

}  // namespace

Owner::Owner(const ClusterOptions& options, OwnerWorld& world, std::uint32_t node, Epoch lease,
             Recorded<RangeRecord> record, HybridClock* clock)
    : options_(options),
      world_(world),
      node_(node),
      lease_(lease),
      clock_(clock),
      set_(EpochOf(record.value, lease), options.set),
      keeper_(std::in_place, kRange, Adapt(std::move(record), options.mistake), set_,
              KeeperOf(options, lease, clock != nullptr)),
      reads_(set_, lease) {}

void Owner::Start(std::vector<std::string> wanted, std::vector<std::string> lazy, Mode mode) {
  keeper_->Follow(std::move(lazy), Now());
  keeper_->Want(std::move(wanted), Now());
  keeper_->WantStrong(mode == Mode::kMsSc, Now());
  keeper_->WantShared(mode == Mode::kAaEc, Now());
  keeper_->Start(Now());
  if (options_.has_local) set_.SetLocal(node_ % members());
  Pump();
}

void Owner::Want(std::vector<std::string> datalets) {
  keeper_->Want(std::move(datalets), Now());
  Pump();
}

void Owner::WantMode(Mode mode) {
  keeper_->WantStrong(mode == Mode::kMsSc, Now());
  keeper_->WantShared(mode == Mode::kAaEc, Now());
  Pump();
}

void Owner::RefreshMark() {
  keeper_->RefreshMark(Now());
  Pump();
}

void Owner::Stop() {
  stopped_ = true;
  for (const std::size_t id : std::exchange(open_, {})) {
    world_.OnEnd(id, Ending::kUnknown, std::nullopt);
  }
}

// --- Values --------------------------------------------------------------------------------------

Serialized Owner::Serialize(KeyView key, std::string& value) noexcept {
  const auto found = memory_.find(key);
  if (found == memory_.end()) return Serialized::kFailed;  // never: dirty keys are kept
  if (!found->second) return Serialized::kAbsent;
  value = *found->second;
  return Serialized::kValue;
}

bool Owner::IsDirty(const std::string& key, MemberMask except) const {
  for (MemberIndex m = 0; m < members(); ++m) {
    if ((except & MaskOf(m)) != 0 || !members_[m].engine) continue;
    if (members_[m].engine->IsDirty({0, key})) return true;
  }
  return false;
}

void Owner::Evict() {
  std::erase_if(memory_, [this](const auto& entry) {
    const std::uint64_t share = (static_cast<std::uint64_t>(entry.first.back()) * 337) % 1000;
    return (only_writes() || share >= options_.cached) && !IsDirty(entry.first);
  });
}

// --- Requests ------------------------------------------------------------------------------------

void Owner::Serve(const Request& request) {
  const bool writes = request.kind != Request::Kind::kGet;
  const bool takes = set_.takes_writes() && set_.TakesWrites(request.level.value_or(1));
  if (!keeper_->serving() || (writes && !takes)) {
    return world_.OnEnd(request.id, Ending::kRefused, std::nullopt);
  }
  open_.insert(request.id);
  if (!writes) {
    Read(request);
  } else {
    std::optional<std::string> value;
    if (request.kind == Request::Kind::kSet) value = request.value;
    if (!Change(request.id, request.key, value)) return End(request.id, Ending::kRefused, {});
    Need need = set_.NeedOfWrite();
    if (request.level) need = set_.NeedAt(*request.level, true);
    if (options_.mistake == Mistake::kLevelIgnored) need.members = 1;
    Ask(request, need);
  }
  Pump();
}

void Owner::Read(const Request& request) {
  if (options_.mistake == Mistake::kLaggingRead && IsDirty(request.key)) {
    const MemberIndex m = set_.ChooseReader(set_.in(), world_.Draw());
    return CallMember<ReadResult>(
        m, ++last_id_ | (kKeepersOwn >> 1),
        [key = request.key](DataletModel& store) { return store.Read({key}); },
        [this, id = request.id](const ReadResult& result) {
          if (result.states.empty()) return End(id, Ending::kUnknown, {});
          const StoredState& state = result.states[0];
          End(id, Ending::kDone, state.found ? std::optional(state.value) : std::nullopt);
        },
        ReadResult{.errc = Errc::kUnknown, .states = {}});
  }
  const bool known = !only_writes() || IsDirty(request.key);
  if (known && memory_.contains(request.key)) return Ask(request, set_.NeedOfRead());
  const FetchId id = ++last_id_;
  reading_[id] = {.request = request, .had = HadByMembers(request.key)};
  reads_.Read(request.key, id);
}

std::map<MemberIndex, Stamp> Owner::HadByMembers(const std::string& key) const {
  for (const auto& [id, reading] : reading_) {  // a read joins one that is under way
    if (reading.request.key == key) return reading.had;
  }
  std::map<MemberIndex, Stamp> had;
  if (!set_.shared()) return had;
  ForEachMember(set_.in(), [&](MemberIndex m) { had[m] = world_.StampAt(DataletOf(m), key); });
  return had;
}

// A member that has less by now came back with older data, or forgot a delete.
void Owner::CheckNotMissed(const Reading& reading, Stamp shown) {
  for (const auto& [m, had] : reading.had) {
    const bool still =
        (set_.in() & MaskOf(m)) != 0 && !(world_.StampAt(DataletOf(m), reading.request.key) < had);
    if (still && shown < had) world_.OnMissed(reading.request.key);
  }
}

// The answer reveals the key's newest state, which is in memory.
void Owner::Ask(const Request& request, const Need& need) {
  const ReplyId id = ++last_id_;
  asked_[id] = {request.id, memory_.at(request.key)};
  if (only_writes() && options_.mistake == Mistake::kAnswerAtOnce) {
    return End(request.id, Ending::kDone, {});
  }
  const KeyRef ref{0, request.key};
  ForEachMember(set_.Ask(id, need), [&](MemberIndex m) {
    members_[m].engine->SafeReply({&ref, 1}, id, Now());
  });
}

// `members`: 0: all that get changes.
bool Owner::Change(std::size_t request, const std::string& key, std::optional<std::string> value,
                   MemberMask members) {
  MemberMask full = 0;
  ForEachMember(set_.writers(), [&](MemberIndex m) {
    if (members_[m].engine->Admits({0, key}, 10) != Errc::kOk) full |= MaskOf(m);
  });
  const MemberMask filling = full & ~set_.required();
  ForEachMember(filling, [&](MemberIndex m) { keeper_->OnLagging(m, Now()); });
  full &= set_.writers();
  if (full != 0) {
    const bool lags = !set_.strong() && (set_.in() & ~full) != 0;
    if (lags) ForEachMember(full, [&](MemberIndex m) { keeper_->OnLagging(m, Now()); });
    return false;
  }
  const auto version = only_writes() ? clock_->Next(CoarseNow()) : set_.NextVersion();
  if (!version) return false;
  if (request != OwnerWorld::kNobody) Show(key, value);
  memory_[key] = std::move(value);
  ForEachMember(members != 0 ? members : set_.writers(), [&](MemberIndex m) {
    members_[m].engine->MarkDirty({0, key}, 10, *version, Now());
  });
  world_.OnChange(request, key, {epoch(), *version});
  const bool told =
      options_.mistake != Mistake::kSettleOverChange || request == OwnerWorld::kNobody;
  if (told) reads_.EndReads(key);
  return true;
}

// Only clients may change what the range has shown.
void Owner::ShowFound(const std::string& key, const std::optional<std::string>& value) {
  const auto shown = shown_.find(key);
  if (shown != shown_.end() && shown->second != value) world_.OnChangedByItself(key);
  Show(key, value);
}

// An owner that another one has followed may find what that one wrote. It does not show it, because
// its repair is fenced.
void Owner::ShowRepaired(const std::string& key, const StoredState& state) {
  if (state.stamp.epoch > epoch()) return;
  ShowFound(key, state.found ? std::optional(state.value) : std::nullopt);
}

// In mode ec, the newer state of a member that was away may win later.
void Owner::Show(const std::string& key, const std::optional<std::string>& value) {
  if (!set_.strong() || !keeper_->record().strong) return shown_.clear();
  shown_[key] = value;
}

void Owner::End(std::size_t id, Ending ending, std::optional<std::string> value) {
  if (open_.erase(id) > 0) world_.OnEnd(id, ending, std::move(value));
}

// --- The loop ------------------------------------------------------------------------------------

void Owner::Pump() {
  if (pumping_ || stopped_) return;
  const auto self = shared_from_this();
  pumping_ = true;
  do {
    wake_ = kNever;
    while (!given_up_ && Turn()) {
    }
    Evict();
    for (MemberIndex m = 0; m < members(); ++m) {
      const Member& member = members_[m];
      keeper_->SetBusy(m, member.engine && !member.engine->IsIdle(), Now());
      keeper_->SetDirty(m, member.engine && member.engine->HasDirtyKeys(), Now());
    }
    keeper_->Tick(Now());
  } while (!given_up_ && Turn());
  pumping_ = false;
  if (given_up_) return world_.OnGivenUp(node_, only_writes() ? 0 : lease_);
  wake_ = std::min(wake_, keeper_->NextTick());
  if (wake_ == kNever) return;
  const std::uint64_t wake = ++wakes_;
  world_.After(node_, std::max(wake_ - Now(), Duration(1)), [self, wake] {
    if (wake == self->wakes_) self->Pump();
  });
}

bool Owner::Turn() {
  bool busy = false;
  for (const range::Action& action : keeper_->TakeActions()) {
    busy = true;
    Run(action);
    if (given_up_) return false;
  }
  for (const RunReply& reply : set_.TakeReplies()) {
    busy = true;
    if (keeper_->OnReply(reply, Now())) continue;
    const auto asked = asked_.extract(reply.id);
    const bool done = reply.errc == Errc::kOk;
    End(asked.mapped().first, done ? Ending::kDone : Ending::kUnknown, asked.mapped().second);
  }
  reads_.OnMembersChanged();
  reads::Effects reads = reads_.TakeEffects();
  busy |= !reads.empty();
  for (const reads::Repair& repair : reads.repairs) {
    world_.OnRepair();
    std::optional<std::string> value;
    if (repair.state.found) value = repair.state.value;
    if (Change(OwnerWorld::kNobody, repair.key, std::move(value))) {
      ShowRepaired(repair.key, repair.state);
    } else {
      reads_.OnRepairRefused(repair.key, Errc::kPushedBack);
    }
  }
  for (const reads::Fetch& fetch : reads.fetches) {
    Engine* const engine = members_[fetch.member].engine.get();
    if (engine != nullptr) engine->Fetch({0, fetch.key}, fetch.token, Now());
  }
  for (reads::Done& done : reads.done) OnRead(done);
  for (MemberIndex m = 0; m < members(); ++m) busy |= Poll(m);
  return busy;
}

void Owner::OnRead(const reads::Done& done) {
  if ((done.id & kKeepersOwn) != 0) {
    return keeper_->OnSettled(done.id, done.errc, done.again, done.state, Now());
  }
  const Reading reading = reading_.extract(done.id).mapped();
  const Request& request = reading.request;
  if (done.errc != Errc::kOk) {
    End(request.id, Ending::kUnknown, {});
  } else if (done.again) {
    Read(request);
  } else {
    CheckNotMissed(reading, done.state.stamp);
    std::optional<std::string> value;
    if (done.state.found) value = done.state.value;
    if (only_writes() && !IsDirty(request.key)) memory_.erase(request.key);
    memory_.try_emplace(request.key, value);
    ShowFound(request.key, value);
    End(request.id, Ending::kDone, std::move(value));
  }
}

bool Owner::Poll(MemberIndex m) {
  if (!members_[m].engine) return false;
  Engine& engine = *members_[m].engine;
  wake_ = std::min(wake_, engine.Poll(Now(), *this));
  Effects effects;
  engine.TakeEffects(effects);
  for (WriteBatch& batch : effects.writes) SendWrite(m, std::move(batch));
  for (const ReadBatch& batch : effects.reads) SendRead(m, batch);
  if (!effects.fenced.empty()) keeper_->OnFencedOut(m, Now());
  for (const RunReply& reply : effects.replies) set_.OnReply(reply.id, m, reply.errc);
  for (FetchDone& done : effects.fetched) {
    if (only_writes()) clock_->Observe(done.state.stamp.version);
    reads_.OnFetched(done.id, m, done.errc, std::move(done.state));
  }
  return !effects.empty();
}

// --- Calls ---------------------------------------------------------------------------------------

// Calls the engine that is open now; late answers for an earlier one are dropped.
template <typename Result>
void Owner::CallForEngine(MemberIndex m, std::function<Result(DataletModel&)> call,
                          std::function<void(Engine&, const Result&)> answer, Result refused) {
  const auto self = shared_from_this();
  const std::uint64_t incarnation = members_[m].incarnation;
  const auto done = [self, m, opened = members_[m].opened, answer](const Result& result, bool ok) {
    if (self->stopped_ || self->members_[m].opened != opened || !self->members_[m].engine) return;
    if (ok) self->NoteProgress(m, result);
    answer(*self->members_[m].engine, result);
    self->Pump();
  };
  world_.Call(
      node_, DataletOf(m),
      [self, m, call, done, incarnation](DataletModel& store) -> OwnerWorld::Answer {
        if (self->IsLost(store, incarnation)) {
          return [self, m, incarnation] { self->OnLost(m, incarnation); };
        }
        return [done, result = call(store)] { done(result, true); };
      },
      [done, refused] { done(refused, false); });
}

void Owner::SendWrite(MemberIndex m, WriteBatch batch) {
  CallForEngine<WriteResult>(
      m, [batch](DataletModel& store) { return store.Write(batch.epoch, batch.items); },
      [this, id = batch.id](Engine& engine, const WriteResult& result) {
        engine.WriteDone(0, id, result, Now());
      },
      WriteResult{.batch = Errc::kTransient, .items = {}});
}

void Owner::SendRead(MemberIndex m, const ReadBatch& batch) {
  CallForEngine<ReadResult>(
      m, [keys = batch.keys](DataletModel& store) { return store.Read(keys); },
      [this, id = batch.id](Engine& engine, const ReadResult& result) {
        engine.ReadDone(0, id, result, Now());
      },
      ReadResult{.errc = Errc::kTransient, .states = {}});
}

void Owner::AskMembers() {
  for (MemberIndex m = 0; m < members_.size(); ++m) {
    if (!members_[m].engine) continue;
    CallForEngine<ReadResult>(
        m, [](DataletModel& store) { return store.Read({kIdentityKey}); },
        [](Engine&, const ReadResult&) {}, ReadResult{.errc = Errc::kTransient, .states = {}});
  }
}

void Owner::OnLost(MemberIndex m, std::uint64_t incarnation) {
  if (stopped_ || std::exchange(members_[m].lost, incarnation) == incarnation) return;
  keeper_->OnLost(m, Now());
  Pump();
}

}  // namespace stout::sim
