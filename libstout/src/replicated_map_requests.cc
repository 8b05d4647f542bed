// The requests of a ReplicatedMap's users.
#include <algorithm>
#include <bit>
#include <boost/asio/dispatch.hpp>
#include <new>
#include <span>
#include <utility>

#include "replicated_map_state.h"

namespace stout::inline v1 {
using namespace internal;

// --- Changes -------------------------------------------------------------------------------------

Result<Stamp> ReplicatedMap::State::Write(KeyView key, std::shared_ptr<const std::string> value) {
  RequireStrand();
  if (!serving()) return NotServing();
  if (draining_) return Errc::kDraining;
  if (!set_.takes_writes()) return Errc::kTooFewMembers;
  if (key.starts_with(kInternalKeys)) return Errc::kRefused;  // no fill would copy it
  return Change(key, std::move(value));
}

// `members`: the members that get the change; 0: all that get changes.
Result<Stamp> ReplicatedMap::State::Change(KeyView key, std::shared_ptr<const std::string> value,
                                           MemberMask members) {
  const std::size_t bytes = value ? value->size() : 0;
  MemberMask refusing = 0;
  Errc why = Errc::kOk;
  ForEachMember(set_.writers() & ~set_.lost(), [&](MemberIndex m) {
    const Errc errc = interposer(m).Admits(key, bytes);
    if (errc == Errc::kOk) return;
    refusing |= MaskOf(m);
    why = errc;
  });
  if (why == Errc::kTooLarge) return why;  // for any member
  lagging_ |= refusing & ~set_.required();
  if (lagging_ != 0) Observe();  // the fill of a member that lags ends at once
  refusing &= set_.writers();
  if (refusing != 0) {  // in mode ec, members that lag too far leave
    if (!set_.strong() && (set_.in() & ~refusing) != 0) lagging_ |= refusing;
    SchedulePump();
    return why;
  }
  const MemberMask writers = set_.writers() & ~set_.lost();  // some may have left just now
  const MemberMask getting = members != 0 ? members & writers : writers;
  if (getting == 0) return Errc::kTransient;  // they all leave soon
  const auto version = clock_ ? clock_->Next() : set_.NextVersion();
  if (!version) return Errc::kTransient;
  ForEachMember(getting, [&](MemberIndex m) {
    Require(interposer(m).MarkDirtyAs(key, bytes, *version).has_value(),
            "a member refuses a change that it admits");
  });
  const Stamp stamp{epoch(), *version};
  values_.Keep(key, {std::move(value), stamp}, [this](KeyView each) { return IsDirty(each); });
  reads_.EndReads(key);
  OverrideRefusal(key);
  SchedulePump();
  return stamp;
}

std::shared_ptr<const std::string> ReplicatedMap::State::ValueOf(StoredState state) {
  return state.found ? values_.MakeValue(std::move(state.value)) : nullptr;
}

bool ReplicatedMap::State::IsDirty(KeyView key, MemberMask except) const {
  for (MemberIndex m = 0; m < members_.size(); ++m) {
    const Interposer* const open = members_[m].interposer.get();
    if (open != nullptr && (except & MaskOf(m)) == 0 && open->IsDirty(key)) return true;
  }
  return false;
}

// --- Reads ---------------------------------------------------------------------------------------

void ReplicatedMap::State::Get(KeyView key, const FetchOptions& options, GetHandler handler) {
  RequireStrand();
  if (!serving()) return Later(std::move(handler), NotServing(), {});
  const bool refused = IsRefused(key);
  if (!refused && Shows(key) && values_.Use(key, options) != nullptr)
    return GetLater(key, options, std::move(handler));
  if (waiting_gets_ >= engine_.lane.max_pending_reads) {
    return Later(std::move(handler), Errc::kPushedBack, {});
  }
  if (refused) {
    refusals_.find(key)->second.gets.push_back({options, std::move(handler)});
    ++waiting_gets_;
    return;
  }
  const FetchOptions asked = values_.ForStore(options);
  const auto [found, is_first] = fetch_of_.try_emplace(std::string(key), last_id_ + 1);
  if (!is_first) {
    Reading& reading = reading_.at(found->second);
    Hasten(reading, asked);
    reading.gets.push_back(std::move(handler));
    reading.options.ahead |= options.ahead;
    ++waiting_gets_;
    return;
  }
  const FetchId id = ++last_id_;
  try {
    Reading& reading = reading_[id];
    reading.key = key;
    reading.options = asked;
    reading.gets.push_back(std::move(handler));
    SchedulePump();
    reads_.Read(key, id);
  } catch (const std::bad_alloc&) {
    reading_.erase(id);
    fetch_of_.erase(found);
    throw;
  }
  ++waiting_gets_;
}

// Answers in a later turn with what memory has then, because the members may refuse the present
// state before.
void ReplicatedMap::State::GetLater(KeyView key, FetchOptions options, GetHandler handler) {
  options.counted = true;
  Later(
      [weak = weak_from_this(), key = std::string(key), options,
       handler = std::move(handler)](ErrorCode ec) mutable {
        const auto self = weak.lock();
        if (!self && !ec) ec = Errc::kClosed;
        if (ec) return handler(ec, {});
        const bool shown = !self->IsRefused(key) && self->Shows(key);
        const Entry* const known = shown ? self->values_.Find(key) : nullptr;
        known != nullptr ? handler({}, *known) : self->Get(key, options, std::move(handler));
      },
      {});
}

// Asks the members again without yielding, if the read so far serves only requests that yield.
void ReplicatedMap::State::Hasten(Reading& reading, const FetchOptions& options) {
  if (!reading.options.yields || options.yields) return;
  ForEachMember(reading.asked, [&](MemberIndex m) {
    if (!members_[m].interposer) return;
    interposer(m).Fetch(reading.key, options,
                        [weak = weak_from_this()](ErrorCode, const StoredState&) {
                          if (const auto self = weak.lock()) self->SchedulePump();
                        });
  });
  reading.options.yields = false;
}

void ReplicatedMap::State::OnRead(reads::Done& done) {
  if ((done.id & kKeepersOwn) != 0) {
    if (ended_ == Errc::kOk) {
      keeper_.OnSettled(done.id, done.errc, done.again, done.state, Now());
    }
    return;
  }
  const auto found = reading_.find(done.id);
  if (found == reading_.end()) return;
  Reading reading = std::move(found->second);
  reading_.erase(found);
  fetch_of_.erase(reading.key);
  waiting_gets_ -= reading.gets.size();
  if (done.errc == Errc::kOk && done.again) {
    for (GetHandler& get : reading.gets) Get(reading.key, reading.options, std::move(get));
    return;
  }
  Entry entry;
  if (done.errc == Errc::kOk) {
    const Stamp stamp = done.state.stamp;
    entry = {.value = ValueOf(std::move(done.state)), .stamp = stamp};
    values_.KeepRead(reading.key, entry, reading.options,
                     [this](KeyView each) { return IsDirty(each); });
  }
  for (GetHandler& get : reading.gets) Later(std::move(get), done.errc, entry);
}

std::optional<ReplicatedMap::Entry> ReplicatedMap::State::Peek(KeyView key,
                                                               const FetchOptions& options) {
  RequireStrand();
  if (IsRefused(key) || !Shows(key, options.counted)) return std::nullopt;
  const Entry* const known = values_.Use(key, options);
  return known != nullptr ? std::optional(*known) : std::nullopt;
}

bool ReplicatedMap::State::Holds(KeyView key) const {
  RequireStrand();
  return !IsRefused(key) && Shows(key) && values_.Find(key) != nullptr;
}

void ReplicatedMap::State::Prefetch(std::span<const KeyView> keys) const {
  RequireStrand();
  values_.Prefetch(keys);
}

// --- Answers -------------------------------------------------------------------------------------

// A member still holds replies that were withdrawn, or answered without it.
bool ReplicatedMap::State::MembersHaveReplyRoom() const {
  MemberMask full = 0;
  ForEachMember(set_.required(), [&](MemberIndex m) {
    const Interposer* const open = members_[m].interposer.get();
    if (open != nullptr && !open->HasReplyRoom(kOwnReplies)) full |= MaskOf(m);
  });
  const auto needed = static_cast<int>(set_.NeedOfWrite().members);  // 0: all
  return full == 0 || (needed != 0 && std::popcount(set_.in() & ~full) >= needed);
}

UniqueFunction<void()> ReplicatedMap::State::SafeReply(std::span<const KeyView> keys, Reply reply,
                                                       const AnswerLevel& level) {
  RequireStrand();
  if (!serving() || asked_.size() >= engine_.max_replies) {
    Later(std::move(reply), serving() ? Errc::kPushedBack : NotServing());
    return {};
  }
  Need need = level.write ? set_.NeedOfWrite() : set_.NeedOfRead();
  if (level.members) need = set_.NeedAt(*level.members, level.write);
  const auto ask_member = [&](ReplyId id, MemberIndex m) {
    Interposer& member = interposer(m);
    const auto is_dirty = [&](KeyView key) { return member.IsDirty(key); };
    if (!std::any_of(keys.begin(), keys.end(), is_dirty)) {
      set_.OnReply(id, m, Errc::kOk);
    } else if (member.HasReplyRoom(kOwnReplies)) {
      member.SafeReply(keys, ReplyOf(id, m));
    } else {
      set_.OnReply(id, m, Errc::kPushedBack);
    }
  };
  const ReplyId id = Ask(asked_, {std::move(reply), SaturatingAdd(Now(), engine_.reply_deadline)},
                         need, ask_member);
  return [weak = weak_from_this(), id] {
    const auto self = weak.lock();
    if (!self) return;
    boost::asio::dispatch(self->strand_, [self, id] {
      const auto withdrawn = self->asked_.extract(id);
      (void)self->set_.Withdraw(id);
    });
  };
}

// Returns the reply that a member's interposer runs. set_ knows the members that it asked, so it
// ignores the answer of a closed interposer.
UniqueFunction<void(ErrorCode)> ReplicatedMap::State::ReplyOf(ReplyId id, MemberIndex m) {
  return [weak = weak_from_this(), id, m](ErrorCode ec) {
    const auto self = weak.lock();
    if (!self) return;
    self->set_.OnReply(id, m, ErrcOf(ec));
    self->SchedulePump();
  };
}

void ReplicatedMap::State::Count(std::uint32_t members, Duration timeout, CountHandler handler) {
  RequireStrand();
  if (!serving() || counting_.size() >= engine_.max_replies)
    return Later(std::move(handler), serving() ? Errc::kPushedBack : NotServing(), 0);
  (void)Ask(counting_, {std::move(handler), SaturatingAdd(Now(), timeout)},
            {.members = std::max<std::uint32_t>(members, 1), .counts = true},
            [this](ReplyId id, MemberIndex m) { AwaitBarrier(m, id); });
}

// A member has one barrier at a time, and those that come meanwhile share the next one. A barrier
// waits for each dirty key, and those of a member that lags would fill the memory. A change that is
// refused before the next one begins is dirty no more, so that one would not see it: it fails.
void ReplicatedMap::State::AwaitBarrier(MemberIndex m, ReplyId id) {
  members_[m].next_barrier.push_back(id);
  if (members_[m].barrier.empty()) StartBarrier(m);
}

void ReplicatedMap::State::StartBarrier(MemberIndex m) {
  Member& member = members_[m];
  if (member.next_barrier.empty()) return;
  const bool refused = member.next_refused;
  interposer(m).Barrier(
      [weak = weak_from_this(), m, refused, opened = member.opened](ErrorCode ec) {
        const auto self = weak.lock();
        if (!self || self->members_[m].opened != opened) return;
        const Errc errc = !ec && refused ? Errc::kRefused : ErrcOf(ec);
        for (const ReplyId id : std::exchange(self->members_[m].barrier, {})) {
          self->set_.OnReply(id, m, errc);
        }
        self->StartBarrier(m);
        self->SchedulePump();
      });
  // Only now: if there was no memory, the next call tries again.
  member.barrier = std::exchange(member.next_barrier, {});
  member.next_refused = false;
}

Mark ReplicatedMap::State::RefreshMark() {
  RequireStrand();
  if (!serving()) return {};
  Observe();
  keeper_.RefreshMark(Now());
  SchedulePump();
  return keeper_.mark();
}

void ReplicatedMap::State::Flush(Reply done) {
  RequireStrand();
  const bool merges = ended_ == Errc::kOk && record().shared != 0 && clock_ == nullptr;
  if (merges && set_.writers() == 0) return Later(std::move(done), {});  // it writes nothing
  if (!merges && !serving()) return Later(std::move(done), NotServing());
  (void)Ask(asked_, {std::move(done), kNever}, {.members = 0},
            [this](ReplyId id, MemberIndex m) { interposer(m).Flush(ReplyOf(id, m)); });
}

void ReplicatedMap::State::Drain(Reply done) {
  RequireStrand();
  Flush([done = std::move(done)](ErrorCode ec) mutable {
    done(IsOnlyRefused(ec) ? ErrorCode() : ec);
  });
  draining_ = true;
}

void ReplicatedMap::State::Later(Reply reply, ErrorCode ec) {
  if (forgotten_) return;
  SchedulePump();  // first: if there is no memory for it, nothing is kept
  due_.push_back({std::move(reply), ec});
}

void ReplicatedMap::State::Later(GetHandler handler, ErrorCode ec, Entry entry) {
  Later([handler = std::move(handler),
         entry = std::move(entry)](ErrorCode code) mutable { handler(code, std::move(entry)); },
        ec);
}

void ReplicatedMap::State::Later(CountHandler handler, Errc errc, std::uint32_t members) {
  Later([handler = std::move(handler), members](ErrorCode ec) mutable { handler(ec, members); },
        errc == Errc::kOk ? ErrorCode() : ErrorCode(errc));
}

// Ends the calls and answers whose deadline has passed.
void ReplicatedMap::State::Expire() {
  const TimePoint now = Now();
  // Deadlines grow in this order, except that flushes have none.
  for (auto next = asked_.begin(); next != asked_.end();) {
    const auto asked = next++;
    const TimePoint deadline = asked->second.deadline;
    if (deadline > now && deadline != kNever) break;
    if (deadline == kNever) continue;
    (void)set_.Withdraw(asked->first);
    due_.push_back({std::move(asked->second.reply), Errc::kDeadline});
    asked_.erase(asked);
  }
  for (auto next = counting_.begin(); next != counting_.end();) {
    const auto counting = next++;
    if (counting->second.deadline > now) continue;
    const std::uint32_t members = set_.Withdraw(counting->first);
    Later(std::move(counting->second.handler), Errc::kOk, members);
    counting_.erase(counting);
  }
  Observe();
  for (auto next = calls_.begin(); next != calls_.end();) {
    const auto call = next++;
    if (call->second.deadline <= now) calls_.extract(call).mapped().time_out();
  }
}

}  // namespace stout::inline v1
