#include "blowfish/store/compaction.h"

#include <cassert>
#include <utility>

namespace stout::blowfish {

void Compaction::On(const Event& event, TimePoint now) {
  if (const auto* grew = std::get_if<LogGrew>(&event)) return On(*grew);
  if (const auto* merge = std::get_if<MergeAllowed>(&event)) return On(*merge);
  if (const auto* asked = std::get_if<Asked>(&event)) return On(*asked);
  if (const auto* frozen = std::get_if<Frozen>(&event)) return On(*frozen);
  if (std::holds_alternative<Failed>(event)) return OnFailed(now);
  OnDone();
}

void Compaction::On(const Asked&) {
  asked_ = true;
  EndRest();
}

void Compaction::On(const Frozen& frozen) {
  assert(working() == Action::kFreeze);
  unmerged_bytes_ += frozen.log_bytes;
  log_ = {};
  merge_now_ = merge_now_ || freeze_to_merge_;
  state_ = Ready{Action::kSort};
}

void Compaction::OnDone() {
  assert(working());
  switch (*working()) {
    case Action::kFreeze:
      assert(!"a freeze ends with Frozen");
      return;
    case Action::kSort:
    case Action::kRemove:
      state_ = Idle{};
      return;
    case Action::kMerge:
      state_ = Ready{Action::kPublish};
      return;
    case Action::kPublish:
      state_ = Ready{Action::kTakeOver};
      return;
    case Action::kTakeOver:
      unmerged_bytes_ = 0;
      merge_now_ = false;
      state_ = Ready{Action::kRemove};
      return;
  }
}

void Compaction::OnFailed(TimePoint now) {
  assert(working() && working() != Action::kTakeOver);
  const Action action = *working();
  Resting resting{now + options_.rest, action};
  switch (action) {
    case Action::kFreeze:
      asked_ = asked_ || freeze_to_merge_;
      resting.again.reset();
      break;
    case Action::kMerge:
      resting.again.reset();  // It is still due.
      break;
    case Action::kRemove:
      state_ = Idle{};
      return;
    default:
      break;
  }
  state_ = resting;
}

void Compaction::EndRest() {
  const auto* const resting = std::get_if<Resting>(&state_);
  if (!resting) return;
  const std::optional<Action> again = resting->again;
  state_ = again ? State(Ready{*again}) : Idle{};
}

bool Compaction::IsMergeDue() const {
  if (merge_now_) return true;
  if (unmerged_bytes_ == 0) return false;
  // While there is more to freeze, that comes first: one merge does for both.
  return unmerged_bytes_ >= options_.merge_bytes || (IsTooMuch() && log_.log_bytes == 0);
}

bool Compaction::IsFreezeDue() const {
  if (asked_) return true;
  if (log_.log_bytes > 0 && log_.table_bytes >= options_.freeze_bytes) return true;
  if (IsMergeDue()) return false;  // It waits. To freeze a little more would free nothing.
  if (IsMuchReplaced()) return true;
  if (log_.log_bytes == 0) return false;
  return IsTooMuch() || unmerged_bytes_ + log_.log_bytes >= options_.merge_bytes;
}

std::optional<Compaction::Action> Compaction::Due() const {
  if (merge_allowed_ && IsMergeDue()) return Action::kMerge;
  if (IsFreezeDue()) return Action::kFreeze;
  return std::nullopt;
}

std::optional<Compaction::Action> Compaction::Next(TimePoint now) {
  if (const auto* const resting = std::get_if<Resting>(&state_)) {
    if (now < resting->until) return std::nullopt;
    EndRest();
  }
  std::optional<Action> next;
  if (const auto* const ready = std::get_if<Ready>(&state_)) next = ready->next;
  if (std::holds_alternative<Idle>(state_)) next = Due();
  if (!next) return std::nullopt;
  if (next == Action::kFreeze)
    freeze_to_merge_ = std::exchange(asked_, false) || IsTooMuch() || IsMuchReplaced();
  state_ = Working{*next};
  return next;
}

std::optional<TimePoint> Compaction::Deadline() const {
  if (const auto* const resting = std::get_if<Resting>(&state_)) return resting->until;
  const bool ready = std::holds_alternative<Ready>(state_) ||
                     (std::holds_alternative<Idle>(state_) && Due().has_value());
  if (ready) return TimePoint::min();
  return std::nullopt;
}

std::optional<Compaction::Action> Compaction::working() const {
  const auto* const working = std::get_if<Working>(&state_);
  if (!working) return std::nullopt;
  return working->action;
}

bool Compaction::idle() const {
  return std::holds_alternative<Idle>(state_) && !IsMergeDue() && !IsFreezeDue();
}

bool Compaction::WantsMerge(TimePoint now) const {
  const auto* const resting = std::get_if<Resting>(&state_);
  const bool rested = resting != nullptr && resting->until <= now && !resting->again;
  return (rested || std::holds_alternative<Idle>(state_)) && IsMergeDue();
}

std::string_view Describe(Compaction::Action action) {
  switch (action) {
    case Compaction::Action::kFreeze:
      return "freeze";
    case Compaction::Action::kSort:
      return "sort";
    case Compaction::Action::kMerge:
      return "merge";
    case Compaction::Action::kPublish:
      return "publish";
    case Compaction::Action::kTakeOver:
      return "take over";
    case Compaction::Action::kRemove:
      return "remove";
  }
  return "";
}

}  // namespace stout::blowfish
