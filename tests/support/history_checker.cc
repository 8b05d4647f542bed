#include "tests/support/history_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stout::test {
namespace {

using Kind = Operation::Kind;
using Outcome = Operation::Outcome;
using Value = std::optional<std::string>;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

std::string Text(const Value& value) {
  return value ? fmt::format("\"{}\"", *value) : std::string("absent");
}

// Returns the number that an increment makes of `value`, or nullopt if there is none.
std::optional<std::string> Incremented(const Value& value) {
  if (!value) return "1";
  std::int64_t number = 0;
  const char* const end = value->data() + value->size();
  const auto [last, error] = std::from_chars(value->data(), end, number);
  if (error != std::errc() || last != end || number == kNever) return std::nullopt;
  return std::to_string(number + 1);
}

// Sets `state` to what the register holds after the operation. Returns false if the operation
// cannot have this answer in this state.
bool Apply(const Operation& op, Value& state) {
  switch (op.op) {
    case Kind::kGet:
      return op.value == state;
    case Kind::kSet:
      state = op.value;
      return true;
    case Kind::kDel:
      state.reset();
      return true;
    case Kind::kIncr:
      break;
  }
  const std::optional<std::string> next = Incremented(state);
  if (!next || (op.outcome == Outcome::kOk && op.value != next)) return false;
  state = next;
  return true;
}

// An operation that the search has to place. `end`: by when it took effect.
struct Call {
  const Operation* op;
  std::int64_t end;
};

bool Writes(const Call& call) { return call.op->op == Kind::kSet || call.op->op == Kind::kDel; }

// The operations that the search has to place. Unknown operations make it slow, because each
// doubles the states, so two cases are decided here.
// - Nobody has read an unknown write: without it the history is linearizable if it is with it.
// - Only one write can have written what was read: it took effect before that read returned.
// Neither holds if there are increments, which read what they do not show.
std::vector<Call> Relevant(const std::vector<const Operation*>& operations, bool plain) {
  std::map<Value, std::int64_t> first_read;  // By value: the earliest return of a get.
  std::map<Value, int> writers;
  for (const Operation* op : operations) {
    if (op->outcome == Outcome::kFail) continue;
    if (op->op == Kind::kSet || op->op == Kind::kDel) ++writers[op->value];
    if (op->op != Kind::kGet || op->outcome != Outcome::kOk) continue;
    const auto [read, is_new] = first_read.try_emplace(op->value, op->return_ns);
    if (!is_new) read->second = std::min(read->second, op->return_ns);
  }
  std::vector<Call> calls;
  for (const Operation* op : operations) {
    const bool known = op->outcome == Outcome::kOk;
    if (op->outcome == Outcome::kFail || (op->op == Kind::kGet && !known)) continue;
    Call call{op, known ? op->return_ns : kNever};
    if (!known && plain) {
      const auto read = first_read.find(op->value);
      if (read == first_read.end()) continue;
      // A read of an absent key needs no delete.
      if (op->op == Kind::kSet && writers[op->value] == 1 && read->second >= op->call_ns) {
        call.end = read->second;
      }
    }
    calls.push_back(call);
  }
  std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
    return std::pair(a.op->call_ns, a.end) < std::pair(b.op->call_ns, b.end);
  });
  return calls;
}

// Searches an order of the operations of one key.
//
// A state of the search has the operations placed so far, and the register's value. Operations that
// must be placed are in a linked list in the order of their calls. Operations that may never happen
// are in classes of equal effect. Of a class the first called is used first, because any other
// order is equivalent.
//
// Two rules keep the search short on a key without increments, which `plain` reports.
// - A write without a read is placed just before another write, so that it has no effect, or when
//   its time is over.
// - If only one write can have written the register's value, no other write is placed before all
//   reads of the value are.
class Search {
 public:
  Search(const std::vector<Call>& calls, bool plain, std::size_t max_states)
      : plain_(plain), max_states_(max_states) {
    std::map<std::pair<Kind, Value>, std::size_t> class_of;
    for (const Call& call : calls) {
      if (Writes(call)) ++uses_[call.op->value].writers;
      if (call.op->op == Kind::kGet) ++uses_[call.op->value].reads;
      if (call.end != kNever) {
        must_.push_back(call);
        continue;
      }
      const auto [found, is_new] =
          class_of.try_emplace({call.op->op, call.op->value}, maybe_.size());
      if (is_new) maybe_.emplace_back();
      maybe_[found->second].push_back(call);
    }
    for (const Call& call : must_) {
      unread_.push_back(plain_ && Writes(call) && uses_[call.op->value].reads == 0);
    }
    used_.resize(maybe_.size());
    next_.resize(must_.size() + 1);
    previous_.resize(must_.size() + 1);
    for (std::size_t i = 0; i <= must_.size(); ++i) {
      next_[i] = (i + 1) % next_.size();
      previous_[next_[i]] = i;
    }
  }

  Judgement::Verdict Run() {
    while (true) {
      PlaceReads();
      if (First() == Head()) return Judgement::Verdict::kLinearizable;
      Note();
      if (seen_.size() >= max_states_) return Judgement::Verdict::kUndecided;
      if (IsNew()) levels_.push_back({Choices(), 0, placed_.size(), value_});
      if (!Advance()) return Judgement::Verdict::kViolated;
    }
  }

  // After a violation: the operation that no order could place in time, and what the key may have
  // held by then.
  [[nodiscard]] const Operation& blocked() const { return *must_[blocked_].op; }
  [[nodiscard]] std::int64_t blocked_end() const { return must_[blocked_].end; }
  [[nodiscard]] const std::set<Value>& held() const { return held_; }

 private:
  // An operation that must be placed, by its index, or one of a class that may be.
  struct Choice {
    std::size_t must = kNone;
    std::size_t maybe = kNone;
  };
  struct Placed {
    Choice choice;
    std::size_t beyond;  // One more than the greatest index that is placed.
  };
  struct Level {
    std::vector<Choice> choices;
    std::size_t next;
    std::size_t placed;  // How many choices led here.
    Value value;
  };

  [[nodiscard]] std::size_t Head() const { return must_.size(); }
  [[nodiscard]] bool IsGet(std::size_t i) const { return must_[i].op->op == Kind::kGet; }
  [[nodiscard]] std::size_t First() const { return next_[Head()]; }

  // The operation that ends first of those that are not placed: nothing that was called after its
  // end can come before it.
  [[nodiscard]] std::size_t Earliest() const {
    std::size_t earliest = First();
    for (std::size_t i = First(); i != Head() && must_[i].op->call_ns <= must_[earliest].end;
         i = next_[i]) {
      if (must_[i].end < must_[earliest].end) earliest = i;
    }
    return earliest;
  }

  void Place(const Choice& choice) {
    if (choice.must != kNone) {
      if (IsGet(choice.must)) --uses_[must_[choice.must].op->value].reads;
      next_[previous_[choice.must]] = next_[choice.must];
      previous_[next_[choice.must]] = previous_[choice.must];
    } else {
      ++used_[choice.maybe];
    }
    const std::size_t beyond = placed_.empty() ? 0 : placed_.back().beyond;
    placed_.push_back({choice, choice.must == kNone ? beyond : std::max(beyond, choice.must + 1)});
  }

  void TakeBack() {
    const Choice choice = placed_.back().choice;
    placed_.pop_back();
    if (choice.must != kNone) {
      if (IsGet(choice.must)) ++uses_[must_[choice.must].op->value].reads;
      next_[previous_[choice.must]] = choice.must;
      previous_[next_[choice.must]] = choice.must;
    } else {
      --used_[choice.maybe];
    }
  }

  // A read that can be placed changes nothing, so that it need not wait.
  void PlaceReads() {
    for (bool placed = true; placed && First() != Head();) {
      placed = false;
      const std::int64_t end = must_[Earliest()].end;
      for (std::size_t i = First(); i != Head() && must_[i].op->call_ns <= end; i = next_[i]) {
        if (!IsGet(i) || must_[i].op->value != value_) continue;
        Place({.must = i});
        placed = true;
      }
    }
  }

  // Just before the write that is chosen.
  void PlaceUnread(const Choice& choice) {
    const std::int64_t end = must_[Earliest()].end;
    for (std::size_t i = First(); i != Head() && must_[i].op->call_ns <= end; i = next_[i]) {
      if (unread_[i] && i != choice.must) Place({.must = i});
    }
  }

  // Returns the operations that can come next, the most urgent first.
  [[nodiscard]] std::vector<Choice> Choices() const {
    std::vector<Choice> choices;
    const auto uses = uses_.find(value_);
    const bool sole = plain_ && value_ && uses->second.writers == 1;
    if (sole && uses->second.reads > 0) return choices;
    const std::size_t earliest = Earliest();
    const std::int64_t end = must_[earliest].end;
    for (std::size_t i = First(); i != Head() && must_[i].op->call_ns <= end; i = next_[i]) {
      if (IsGet(i) || (unread_[i] && i != earliest)) continue;
      Value value = value_;
      if (Apply(*must_[i].op, value)) choices.push_back({.must = i});
    }
    std::sort(choices.begin(), choices.end(), [this](const Choice& a, const Choice& b) {
      return must_[a.must].end < must_[b.must].end;
    });
    for (std::size_t i = 0; i < maybe_.size(); ++i) {
      if (used_[i] == maybe_[i].size()) continue;
      const Operation& op = *maybe_[i][used_[i]].op;
      Value value = value_;
      // Without an effect it need not have happened.
      if (op.call_ns <= end && Apply(op, value) && value != value_) choices.push_back({.maybe = i});
    }
    return choices;
  }

  // The next choice of the last state that has one. False: there is none.
  bool Advance() {
    while (!levels_.empty()) {
      Level& level = levels_.back();
      while (placed_.size() > level.placed) TakeBack();
      value_ = level.value;
      if (level.next < level.choices.size()) {
        const Choice choice = level.choices[level.next++];
        const Operation& op = choice.must != kNone ? *must_[choice.must].op
                                                   : *maybe_[choice.maybe][used_[choice.maybe]].op;
        PlaceUnread(choice);
        Place(choice);
        Apply(op, value_);
        return true;
      }
      levels_.pop_back();
    }
    return false;
  }

  // Returns true if the state has choices that no earlier state like it had. A state that used up
  // fewer of the operations that may never happen has all the choices of one that used up more.
  bool IsNew() {
    auto& likes = seen_[State()];
    for (const std::vector<std::size_t>& used : likes) {
      if (std::equal(used.begin(), used.end(), used_.begin(), std::less_equal<>())) return false;
    }
    likes.push_back(used_);
    return true;
  }

  // Returns the state without used_, in few bytes: the operations that are not placed among those
  // before the last placed one all overlap, so there are few.
  [[nodiscard]] std::string State() const {
    std::string state;
    const auto add = [&state](std::size_t number) {
      state.append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    const std::size_t beyond = placed_.empty() ? 0 : placed_.back().beyond;
    add(beyond);
    for (std::size_t i = First(); i < beyond; i = next_[i]) add(i);
    add(kNone);
    if (value_) state += "=" + *value_;
    return state;
  }

  void Note() {
    const std::size_t earliest = Earliest();
    if (blocked_ == kNone || must_[blocked_].end < must_[earliest].end) {
      blocked_ = earliest;
      held_.clear();
    }
    if (blocked_ == earliest) held_.insert(value_);
  }

  // The numbers of writes that can have written a value, and of its reads that are not placed.
  struct Uses {
    std::size_t writers = 0;
    std::size_t reads = 0;
  };

  const bool plain_;
  const std::size_t max_states_;
  std::map<Value, Uses> uses_;
  std::vector<Call> must_;
  std::vector<bool> unread_;
  std::vector<std::vector<Call>> maybe_;
  std::vector<std::size_t> used_;  // of each class, in maybe_
  std::vector<std::size_t> next_, previous_;
  std::vector<Placed> placed_;
  Value value_;
  std::vector<Level> levels_;
  std::unordered_map<std::string, std::vector<std::vector<std::size_t>>> seen_;
  std::size_t blocked_ = kNone;
  std::set<Value> held_;
};

std::string Describe(const Operation& op) {
  static constexpr std::string_view kNames[] = {"get", "set", "del", "incr"};
  const bool ok = op.outcome == Outcome::kOk;
  return fmt::format("{} by client {} ({} to {} ns)", kNames[static_cast<int>(op.op)], op.client,
                     op.call_ns, ok ? std::to_string(op.return_ns) : "unknown");
}

std::string Blame(const Operation& op, const std::string& why) {
  return fmt::format("no order explains the {}, which {} {}: {}", Describe(op),
                     op.op == Kind::kSet || op.op == Kind::kDel ? "wrote" : "returned",
                     Text(op.value), why);
}

// A read of what no write can have written by then, if there is one. It needs no search.
std::optional<std::string> FindUnwritten(const std::vector<const Operation*>& operations) {
  std::map<std::string_view, std::int64_t> written;  // By value: the earliest call.
  std::set<std::string_view> failed;
  for (const Operation* op : operations) {
    if (op->op == Kind::kIncr) return std::nullopt;  // writes what it does not show
    if (op->op != Kind::kSet) continue;
    if (op->outcome == Outcome::kFail) {
      failed.insert(*op->value);
      continue;
    }
    const auto [found, is_new] = written.try_emplace(*op->value, op->call_ns);
    if (!is_new) found->second = std::min(found->second, op->call_ns);
  }
  for (const Operation* op : operations) {
    if (op->op != Kind::kGet || op->outcome != Outcome::kOk || !op->value) continue;
    const auto found = written.find(*op->value);
    if (found != written.end() && found->second <= op->return_ns) continue;
    return Blame(*op, found != written.end()        ? "that was written later"
                      : failed.contains(*op->value) ? "its only write failed"
                                                    : "nobody wrote that");
  }
  return std::nullopt;
}

std::string Explain(const std::vector<Call>& calls, const Search& search) {
  const Operation& blocked = search.blocked();
  std::string held;
  std::size_t shown = 0;
  for (const Value& value : search.held()) {
    if (shown > 0) held += ", ";
    if (++shown > 8) {
      held += "...";
      break;
    }
    held += Text(value);
  }
  if (blocked.op == Kind::kGet || blocked.op == Kind::kIncr) {
    return Blame(blocked, "the key could only be " + held);
  }
  // A write is blocked only because a value that it replaces is read later.
  for (const Call& call : calls) {
    const Operation& op = *call.op;
    const bool later = op.op == Kind::kGet && op.call_ns > search.blocked_end();
    if (later && search.held().contains(op.value)) {
      return Blame(op, "that was replaced by the " + Describe(blocked));
    }
  }
  return Blame(blocked, "later reads need the key to stay " + held);
}

}  // namespace

Judgement JudgeHistory(std::span<const Operation> history, std::size_t max_states) {
  std::map<std::string_view, std::vector<const Operation*>> keys;
  for (const Operation& op : history) keys[op.key].push_back(&op);
  Judgement undecided;
  for (const auto& [key, operations] : keys) {
    if (auto unwritten = FindUnwritten(operations)) {
      return {Judgement::Verdict::kViolated, std::string(key), std::move(*unwritten)};
    }
    const bool plain = std::none_of(operations.begin(), operations.end(),
                                    [](const Operation* op) { return op->op == Kind::kIncr; });
    const std::vector<Call> calls = Relevant(operations, plain);
    Search search(calls, plain, max_states);
    const Judgement::Verdict verdict = search.Run();
    if (verdict == Judgement::Verdict::kViolated) {
      return {verdict, std::string(key), Explain(calls, search)};
    }
    if (verdict == Judgement::Verdict::kUndecided && undecided.key.empty()) {
      undecided = {verdict, std::string(key),
                   fmt::format("no answer after {} states of the search", max_states)};
    }
  }
  return undecided;
}

}  // namespace stout::test
