#include "stout/core/replica_set.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <string>
#include <system_error>

namespace stout::inline v1 {

std::string EncodeMark(const Mark& mark) {
  std::string text = std::to_string(mark.epoch) + ":" + std::to_string(mark.version);
  if (mark.time != TimePoint{}) text += ":" + std::to_string(mark.time.time_since_epoch().count());
  return text;
}

std::optional<Mark> ParseMark(std::string_view text) {
  Mark mark;
  const char* const end = text.data() + text.size();
  const auto epoch = std::from_chars(text.data(), end, mark.epoch);
  if (epoch.ec != std::errc() || epoch.ptr == end || *epoch.ptr != ':') return std::nullopt;
  const auto version = std::from_chars(epoch.ptr + 1, end, mark.version);
  if (version.ec != std::errc()) return std::nullopt;
  if (version.ptr == end) return mark;
  Duration::rep time = 0;
  if (*version.ptr != ':') return std::nullopt;
  const auto last = std::from_chars(version.ptr + 1, end, time);
  if (last.ec != std::errc() || last.ptr != end) return std::nullopt;
  mark.time = TimePoint(Duration(time));
  return mark;
}

// "d1", or "d1/7:3" after a fill: a datalet's name has no slash.
std::string RangeRecord::Member::Identity() const {
  const Mark fill{.epoch = entered.epoch, .version = entered.version};
  return datalet + (entered == Stamp{} ? "" : "/" + EncodeMark(fill));
}

bool RangeRecord::Member::IsShownBy(std::string_view identity) const {
  if (!identity.starts_with(datalet)) return false;
  identity.remove_prefix(datalet.size());
  if (identity.empty()) return entered == Stamp{};
  const auto fill = identity.front() == '/' ? ParseMark(identity.substr(1)) : std::nullopt;
  return fill && Stamp{fill->epoch, fill->version} >= entered;
}

// As StoreTraits::incarnation may change.
bool RangeRecord::Member::IsRestarted(std::string_view now) const {
  if (incarnation.empty() || incarnation == now) return false;
  return now.empty() || !incarnation.starts_with(std::string(now) + '/');
}

bool IsIn(const RangeRecord& record, std::string_view datalet) {
  return std::any_of(record.members.begin(), record.members.end(),
                     [&](const auto& member) { return member.in && member.datalet == datalet; });
}

bool IsAwaited(const RangeRecord& record, const RangeRecord::Member& member) {
  return record.shared == 0 && record.merged != TimePoint{} && !member.in &&
         member.since == record.merged;
}

void RemoveFormerMembers(RangeRecord& record, const std::vector<std::string>& wanted) {
  std::erase_if(record.members, [&](const RangeRecord::Member& member) {
    return !member.in && !IsAwaited(record, member) &&
           std::find(wanted.begin(), wanted.end(), member.datalet) == wanted.end();
  });
}

std::string_view Describe(GivenUp cause) {
  switch (cause) {
    case GivenUp::kFenced:
      return "another owner has the range";
    case GivenUp::kSilent:
      return "no member that is in answers";
    case GivenUp::kLost:
      return "all members that are in have lost what they had";
    case GivenUp::kFull:
      return "former members fill the record, which the next owner clears";
    case GivenUp::kUnshared:
      return "its nodes share it no longer";
  }
  return "unknown";
}

}  // namespace stout::inline v1

namespace stout::internal {

// --- Members -------------------------------------------------------------------------------------

void ReplicaSet::Adopt(const RangeRecord& record) {
  closed_ = record.closed;
  swept_ = record.swept;
  shared_ = record.shared != 0;
  awaited_ = 0;
  const auto is_in = [](const RangeRecord::Member& member) { return member.in; };
  all_shared_ = 0;
  if (shared_) {  // each node finds out by itself which members it reaches
    all_shared_ = static_cast<std::uint32_t>(
        std::count_if(record.members.begin(), record.members.end(), is_in));
    return;
  }
  for (MemberIndex m = 0; m < record.members.size() && m < kMaxMembers; ++m) {
    if (record.members[m].in) {
      SetState(m, MemberState::kIn);
    } else if ((in_ & MaskOf(m)) != 0) {
      SetState(m, MemberState::kOut);
    }
    if (IsAwaited(record, record.members[m])) awaited_ |= MaskOf(m);
  }
}

void ReplicaSet::SetState(MemberIndex member, MemberState state) {
  if (states_[member] == state) return;
  const MemberMask bit = MaskOf(member);
  const auto set = [bit](MemberMask& mask, bool on) { mask = on ? mask | bit : mask & ~bit; };
  states_[member] = state;
  set(in_, state == MemberState::kIn);
  set(required_, state == MemberState::kIn || state == MemberState::kEntering);
  const bool gets_nothing = state == MemberState::kOut || state == MemberState::kSource;
  set(writers_, !gets_nothing);
  set(lazy_, state == MemberState::kLazy);
  set(sources_, state == MemberState::kSource);
  for (auto& entry : answers_) {
    Answer& answer = entry.second;
    if (gets_nothing || state == MemberState::kLazy) {  // its answers do not count
      set(answer.asked, false);
      set(answer.have, false);
      set(answer.failed, false);
    } else if (state == MemberState::kEntering) {
      // A failure while it was filled does not count: it enters after a barrier.
      const bool failed = (answer.failed & bit) != 0;
      if (failed) set(answer.asked, false);
      set(answer.failed, false);
      if (!failed && (answer.asked & bit) == 0) set(answer.have, true);  // invariant 2
    } else if (state == MemberState::kIn && (answer.asked & bit) == 0 && !shared_) {
      set(answer.have, true);
    }
  }
  if (state == MemberState::kOut) {
    queues_[member] = {};
    lost_ &= ~bit;
    lacking_ &= ~bit;
  }
  ReleaseAll();
}

void ReplicaSet::SetLost(MemberIndex member) {
  if (states_[member] == MemberState::kOut) return;
  const MemberMask bit = MaskOf(member);
  lost_ |= bit;
  for (auto& entry : answers_) {
    Answer& answer = entry.second;
    answer.asked |= bit;  // otherwise invariant 2 would count it once it is in
    answer.have &= ~bit;
    answer.failed &= ~bit;
  }
}

bool ReplicaSet::takes_writes() const { return TakesWrites(options_.min_in); }

bool ReplicaSet::TakesWrites(std::uint32_t members) const {
  return static_cast<std::uint32_t>(std::popcount(in_ & ~lost_)) >= Number(members);
}

bool ReplicaSet::IsSettled(Stamp stamp) const {
  if (stamp.epoch == epoch_ || stamp.version == 0 || stamp.epoch <= swept_) return true;
  const auto mark = closed_.find(stamp.epoch);
  return mark != closed_.end() && stamp.version <= mark->second;
}

// --- Answers -------------------------------------------------------------------------------------

MemberMask ReplicaSet::Ask(ReplyId id, const Need& need) {
  const MemberMask asked = need.only != 0 ? need.only : writers_ & ~lazy_;
  const auto entry =
      answers_.emplace_hint(answers_.end(), id, Answer{.need = need, .asked = asked});
  if (asked == 0 && TryRelease(id, entry->second)) answers_.erase(entry);
  return asked;
}

std::uint32_t ReplicaSet::Withdraw(ReplyId id) {
  const auto found = answers_.find(id);
  if (found == answers_.end()) return 0;
  const std::uint32_t have = CountHave(found->second);
  answers_.erase(found);
  return have;
}

std::uint32_t ReplicaSet::CountHave(const Answer& answer) const {
  return static_cast<std::uint32_t>(std::popcount(answer.have & in_ & ~lacking_));
}

void ReplicaSet::OnReply(ReplyId id, MemberIndex member, Errc errc) {
  const auto found = answers_.find(id);
  if (found == answers_.end() || errc == Errc::kClosed || errc == Errc::kLost) return;
  Answer& answer = found->second;
  const MemberMask bit = MaskOf(member);
  if ((answer.asked & ~lost_ & bit) == 0) return;
  if (errc == Errc::kOk) {
    answer.have |= bit;
  } else {
    answer.failed |= bit;
    const bool keeps = answer.errc == Errc::kUnknown && IsRefusal(errc);
    if (answer.errc == Errc::kOk || ((required_ & bit) != 0 && !keeps)) answer.errc = errc;
  }
  if (TryRelease(id, answer)) answers_.erase(found);
}

ReplicaSet::Fate ReplicaSet::Judge(const Answer& answer) const {
  const Need& need = answer.need;
  const bool all = need.members == 0;
  const MemberMask counted = need.only != 0 ? need.only : all ? required_ : in_;
  if (need.only != 0 && (need.only & ~writers_) != 0) return Fate::kFails;
  const auto count = [](MemberMask members) {
    return static_cast<std::uint32_t>(std::popcount(members));
  };
  const std::uint32_t present = count(counted);
  const std::uint32_t wanted = all ? present : std::min(need.members, present);
  const std::uint32_t min_in = std::max(need.write ? options_.min_in : 0, need.min_in);
  if (present > 0 && count(answer.have & counted) >= wanted) {
    if (count(answer.have & in_) >= min_in) return Fate::kDone;
    const bool complete = (required_ & ~answer.have) == 0;
    if (complete && count(required_) < min_in) return Fate::kTooFew;
  }
  // A member that was closed meanwhile will not answer, and it is not filled.
  if (shared_ && (answer.asked & ~answer.have & ~answer.failed) == 0) return Fate::kFails;
  const bool failed = (answer.failed & counted) != 0;
  return failed && count(counted & ~answer.failed) < wanted ? Fate::kFails : Fate::kWaits;
}

bool ReplicaSet::TryRelease(ReplyId id, const Answer& answer) {
  const Fate fate = Judge(answer);
  if (fate == Fate::kWaits) return false;
  Errc errc = answer.errc == Errc::kOk ? Errc::kClosed : answer.errc;
  if (fate == Fate::kFails && IsOnlyRefused(errc)) {
    // Another member may take the value and keep it, so one refusal decides nothing yet. In mode sc
    // it is undone, but if this owner dies before that, the next owner shows it. A flush waits here
    // until all members are done.
    const MemberMask asked = answer.asked & required_ & ~lost_;
    if ((asked & ~answer.have & ~answer.failed) != 0) return false;
    if ((asked & answer.have) != 0) errc = Errc::kUnknown;
  }
  if (fate == Fate::kDone) errc = Errc::kOk;
  if (fate == Fate::kTooFew) errc = Errc::kUnknown;  // some members have it
  replies_.push_back({id, errc, answer.need.counts ? CountHave(answer) : 0});
  return true;
}

void ReplicaSet::ReleaseAll() {
  std::erase_if(answers_,
                [this](const auto& entry) { return TryRelease(entry.first, entry.second); });
}

void ReplicaSet::FailAll(Errc errc) {
  for (const auto& entry : answers_) replies_.push_back({entry.first, errc});
  answers_.clear();
}

// --- Reads ---------------------------------------------------------------------------------------

MemberIndex ReplicaSet::ChooseReader(MemberMask clean, std::uint64_t random) const {
  std::size_t shortest = SIZE_MAX;
  MemberMask best = 0;
  const MemberMask choice = in_ & clean;
  const MemberMask sound = choice & ~lost_ & ~lacking_;
  for (MemberMask left = sound != 0 ? sound : choice; left != 0; left &= left - 1) {
    const Queue& queue = queues_[static_cast<std::size_t>(std::countr_zero(left))];
    const std::size_t length = queue.own + queue.theirs;
    if (length < shortest) best = 0;
    if (length <= shortest) best |= left & ~(left - 1);
    shortest = std::min(shortest, length);
  }
  if ((best & local_) != 0) best = local_;
  for (std::uint64_t skip = random % static_cast<std::uint64_t>(std::popcount(best)); skip > 0;
       --skip) {
    best &= best - 1;
  }
  return static_cast<MemberIndex>(std::countr_zero(best));
}

void ReplicaSet::OnReadSent(MemberIndex member) {
  ++queues_[member].own;
  for (Queue& queue : queues_) {
    if (queue.own == 0 && queue.theirs > 0) --queue.theirs;
  }
}

}  // namespace stout::internal
