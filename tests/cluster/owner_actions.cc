// What an owner does for its RangeKeeper, and the mistakes that it can make there.
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "tests/cluster/owner.h"

namespace stout::sim {

void Owner::Run(const range::Action& action) {
  std::visit([this](const auto& each) { Do(each); }, action);
}

void Owner::Do(const range::Fence& fence) {
  const bool late = options_.mistake == Mistake::kLateWriters && !only_writes();
  const bool fences = (options_.mistake != Mistake::kNoFence && !late) || keeper_->serving();
  members_[fence.member].incarnation = 0;
  struct Fenced {
    range::Fenced answer;
    std::uint64_t incarnation = 0;
  };
  CallMember<Fenced>(
      fence.member, fence.attempt,
      [epoch = epoch(), fences](DataletModel& store) {
        const Errc errc = fences ? store.Fence(epoch) : Errc::kOk;
        return Fenced{{errc, store.NameOfLife()}, store.incarnation()};
      },
      [this, fence](const Fenced& fenced) {
        members_[fence.member].incarnation = fenced.incarnation;
        range::Fenced answer = fenced.answer;
        const bool unproved = options_.mistake == Mistake::kMergeUnproved;
        if ((unproved || options_.mistake == Mistake::kOlderKept) && !keeper_->serving()) {
          answer.incarnation = keeper_->record().members[fence.member].incarnation;
        }
        keeper_->OnFenced(fence.attempt, answer, Now());
      },
      Fenced{{Errc::kUnknown, {}}});
}

void Owner::Do(const range::Read& read) {
  CallMember<ReadResult>(
      read.member, read.attempt,
      [read](DataletModel& store) {
        ReadResult result = store.Read(read.keys);
        if (read.values) return result;
        for (StoredState& state : result.states) state.value.clear();
        return result;
      },
      [this, read](const ReadResult& result) {
        ReadResult seen = result;
        const bool identity = read.keys.front() == kIdentityKey;
        const bool unproved = options_.mistake == Mistake::kMergeUnproved;
        if (identity && (unproved || options_.mistake == Mistake::kEmptyKept) &&
            !seen.states.empty()) {
          seen.states[0].found = true;
          seen.states[0].value = keeper_->record().members[read.member].Identity();
        }
        keeper_->OnRead(read.attempt, seen, Now());
      },
      ReadResult{.errc = Errc::kUnknown, .states = {}});
}

void Owner::Do(const range::Scan& scan) {
  CallMember<ScanResult>(
      scan.member, scan.attempt, [scan](DataletModel& store) { return store.Scan(scan.request); },
      [this, scan](const ScanResult& result) { keeper_->OnScanned(scan.attempt, result, Now()); },
      ScanResult{.errc = Errc::kUnknown, .keys = {}, .cursor = {}});
}

void Owner::Do(const range::Copy& copy) {
  std::vector<WriteItem> items = copy.items;
  for (WriteItem& item : items) {
    if (options_.mistake == Mistake::kCopiesAsZero) item.version = 0;
    if (options_.mistake == Mistake::kMergeAsNew && keeper_->record().shared != 0) {
      item.version = HybridClock::MicrosOf(Now()) << HybridClock::kNumberBits;
    }
    if (options_.mistake == Mistake::kCopiesAsOne && item.version == 0) item.version = 1;
  }
  CallMember<WriteResult>(
      copy.member, copy.attempt,
      [epoch = epoch(), items](DataletModel& store) { return store.Write(epoch, items); },
      [this, copy](const WriteResult& result) { keeper_->OnCopied(copy.attempt, result, Now()); },
      WriteResult{.batch = Errc::kUnknown, .items = {}});
}

void Owner::Do(const range::Commit& commit) {
  if (options_.mistake == Mistake::kAnswerBeforeTransaction) {
    const auto& record = std::get<RangeRecord>(*commit.change.value);
    ForEachMember(set_.in(), [&](MemberIndex m) {
      if (!record.members[m].in) set_.SetState(m, MemberState::kOut);
    });
  }
  const auto self = shared_from_this();
  calls_.insert(commit.attempt);
  const auto done = [self, attempt = commit.attempt](const Judged& judged) {
    const bool first = self->calls_.erase(attempt) > 0;
    if (self->stopped_) return;
    if (first && judged.errc == Errc::kUnknown) self->world_.OnUnknownCommit();
    self->keeper_->OnCommitted(attempt, judged.errc, judged.answer, self->Now());
    self->Pump();
  };
  world_.CallRegistry(
      node_,
      [done, change = commit.change](RegistryModel& registry, TimePoint now) -> OwnerWorld::Answer {
        return [done, judged = registry.Change(change, now)] { done(judged); };
      });
  world_.After(node_, options_.engine.lane.attempt_timeout, [done] { done({Errc::kUnknown}); });
}

void Owner::Do(const range::Open& open) {
  Member& member = members_[open.member];
  EngineOptions options = options_.engine;
  options.seed = 16 * epoch() + open.member;
  member.engine = std::make_unique<Engine>(options, 1, epoch());
  ++member.opened;
  opened_ = set_.state(open.member) == MemberState::kFilling;
}

void Owner::Do(const range::Shut& shut) { members_[shut.member].engine.reset(); }

void Owner::Do(const range::Barrier& barrier) {
  const bool fills = std::exchange(opened_, false);
  const bool enters = barrier.members != set_.writers();
  if (options_.mistake == Mistake::kNoBarrierBeforeScan && fills) {
    set_.Withdraw(barrier.id);
    keeper_->OnReply({barrier.id, Errc::kOk}, Now());
    return;
  }
  if (options_.mistake == Mistake::kMarkAtStart && !fills && !enters) {
    world_.OnMark({epoch(), set_.version()});
    Change(OwnerWorld::kNobody, kMarkKey, EncodeMark({epoch(), set_.version()}));
  }
  ForEachMember(barrier.members, [&](MemberIndex m) {
    const bool early = options_.mistake == Mistake::kEntersUncounted && enters;
    if (early && set_.state(m) == MemberState::kEntering) set_.SetState(m, MemberState::kFilling);
    members_[m].engine->Barrier(barrier.id, Now());
  });
}

void Owner::Do(const range::Settle& settle) {
  const bool mistaken = options_.mistake == Mistake::kLazyCountsAsDirty;
  if (IsDirty(settle.key, mistaken ? 0 : set_.lazy())) {
    keeper_->OnSettled(settle.id, Errc::kOk, true, {}, Now());
  } else {
    reads_.Read(settle.key, settle.id);
  }
}

void Owner::Do(const range::Change& change) {
  const std::uint64_t refuse = options_.faults.refuse_change;
  if (refuse > 0 && world_.Draw() < refuse) {
    return keeper_->OnChanged(change.attempt, Errc::kPushedBack, Now());
  }
  std::optional<std::string> value;
  if (change.state.found) value = change.state.value;
  MemberMask members = change.members;
  if (change.key == kMarkKey) {
    Mark mark = *ParseMark(*value);
    world_.OnMark(mark);
    if (options_.mistake == Mistake::kMarkWhileFilling) members = 0;
    if (options_.mistake == Mistake::kMarkDatedLate) mark.time = Now();
    value = EncodeMark(mark);
  }
  const bool changed = Change(OwnerWorld::kNobody, change.key, std::move(value), members);
  if (changed && !change.key.starts_with(kInternalKeys)) ShowRepaired(change.key, change.state);
  keeper_->OnChanged(change.attempt, changed ? Errc::kOk : Errc::kPushedBack, Now());
}

}  // namespace stout::sim
