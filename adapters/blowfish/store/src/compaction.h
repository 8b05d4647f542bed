#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "stout/core/types.h"

namespace stout::blowfish {

struct CompactionOptions {
  /// Memory of the log's table from which on it is frozen.
  std::uint64_t freeze_bytes = std::uint64_t{16} << 20;
  /// Log since the last merge from which on there is one.
  std::uint64_t merge_bytes = std::uint64_t{64} << 20;
  /// Memory of all that is not merged, above which there is a merge, too, and puts are kTransient
  /// until it is done: merges fail, or do not keep up. Deletes are so above twice that. More than
  /// freeze_bytes.
  std::uint64_t max_unmerged_bytes = std::uint64_t{1} << 30;
  /// How long a step that failed rests before it is tried again: a full disk stays so for a while.
  Duration rest = std::chrono::seconds(5);
  /// Likewise a merge of more than an index takes: it costs much to find that out again.
  Duration full_rest = std::chrono::seconds(60);
};

/// What a shard compacts, and when: events in, actions out, no clock, thread or file.
///
///     compaction.On(Compaction::LogGrew{table.bytes(), log.bytes()}, now);
///     while (const auto action = compaction.Next(now)) Begin(*action);
///     compaction.On(Compaction::Done{}, now);  // Later, when the action has ended.
///
/// One action is under way at a time, and what comes next depends on how it ends:
///
///     action     what it does                                 done       failed: after a rest
///     kFreeze    the log's table is set aside                 kSort      Idle
///     kSort      it becomes a SuffixStore                     Idle       kSort
///     kMerge     all SuffixStores and the SuccinctStore       kPublish   kMerge; Idle if too large
///                become one file
///     kPublish   the manifest names that file, durably        kTakeOver  kPublish: the merge holds
///     kTakeOver  queries go over to it                        kRemove    (cannot fail)
///     kRemove    what the manifest does not name any more     Idle       Idle: the next one
///                is removed                                              does it
///
/// From Idle it begins a merge if one is due, else a freeze if one is. A merge is due when the log
/// since the last one is long, or when what was asked for has been frozen, or takes more memory
/// than it may; so one always follows a freeze, and its file's name is new. A log that is empty is
/// frozen for who asked alone: it frees nothing.
///
/// A merge that failed because there is too much for one index makes the shard *full*: then the
/// next one is tried when something was logged since, deletes for instance, and not before the
/// rest.
///
/// Owner: value type.   Threads: none of its own; callers serialise.
class Compaction {
 public:
  enum class Action : std::uint8_t { kFreeze, kSort, kMerge, kPublish, kTakeOver, kRemove };

  // Events.
  struct LogGrew {
    std::uint64_t table_bytes = 0;     ///< Memory of the log's table,
    std::uint64_t log_bytes = 0;       ///< and of the log itself, since the last freeze, about.
    std::uint64_t unmerged_bytes = 0;  ///< Memory of all that is not merged.
  };
  /// All that there is shall be merged. Who asks has mended what failed: it ends a rest.
  struct Asked {};
  /// kFreeze is done, and took so much of the log.
  struct Frozen {
    std::uint64_t log_bytes = 0;
  };
  /// Another action is done.
  struct Done {};
  struct Failed {
    bool too_large = false;  ///< Of kMerge: there is more than an index takes.
  };
  using Event = std::variant<LogGrew, Asked, Frozen, Done, Failed>;

  // States.
  struct Idle {
    friend bool operator==(const Idle&, const Idle&) = default;
  };
  struct Ready {
    Action next;
    friend bool operator==(const Ready&, const Ready&) = default;
  };
  struct Working {
    Action action;
    friend bool operator==(const Working&, const Working&) = default;
  };
  struct Resting {
    TimePoint until;
    std::optional<Action> again;  ///< Nothing: Idle is next.
    friend bool operator==(const Resting&, const Resting&) = default;
  };
  using State = std::variant<Idle, Ready, Working, Resting>;

  explicit Compaction(CompactionOptions options = {}) : options_(options) {}

  /// The action that Frozen, Done or Failed tell of is under way: asserted.
  void On(const Event& event, TimePoint now);

  /// The action to begin now, if there is one. It is under way from here on.
  [[nodiscard]] std::optional<Action> Next(TimePoint now);

  /// When Next() has an action without a further event; long ago: at once. Nothing: only an event
  /// brings one.
  [[nodiscard]] std::optional<TimePoint> Deadline() const;

  [[nodiscard]] const State& state() const { return state_; }
  /// What is under way.
  [[nodiscard]] std::optional<Action> working() const;
  /// Nothing is under way, nor due.
  [[nodiscard]] bool idle() const;
  /// What failed waits to be tried again.
  [[nodiscard]] bool resting() const { return std::holds_alternative<Resting>(state_); }
  /// There was more than an index takes when a merge was last tried.
  [[nodiscard]] bool full() const { return full_; }

 private:
  void On(const LogGrew& grew) { log_ = grew; }
  void On(const Asked& asked);
  void On(const Frozen& frozen);
  void OnDone();
  void OnFailed(const Failed& failed, TimePoint now);

  void EndRest();
  [[nodiscard]] bool IsMergeDue() const;
  [[nodiscard]] bool IsFreezeDue() const;
  [[nodiscard]] bool IsTooMuch() const { return log_.unmerged_bytes > options_.max_unmerged_bytes; }
  // The action that Idle goes over to.
  [[nodiscard]] std::optional<Action> Due() const;

  CompactionOptions options_;
  State state_;
  LogGrew log_;
  std::uint64_t unmerged_bytes_ = 0;  // Of the log, before the last freeze.
  bool asked_ = false;                // Since the last freeze began.
  bool freeze_to_merge_ = false;      // The freeze under way is for a merge.
  bool merge_now_ = false;            // Whatever the log's length.
  bool full_ = false;
};

/// "freeze", "sort", ...
[[nodiscard]] std::string_view Describe(Compaction::Action action);

}  // namespace stout::blowfish
