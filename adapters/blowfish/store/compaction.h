#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "blowfish/store/first_to_merge.h"
#include "stout/core/types.h"

namespace stout::blowfish {

struct CompactionOptions {
  /// Memory of the log's table from which on it is frozen.
  std::uint64_t freeze_bytes = std::uint64_t{16} << 20;
  /// Log since the last merge from which on there is one.
  std::uint64_t merge_bytes = std::uint64_t{64} << 20;
  /// Memory of all unmerged records. Above it there is also a merge, and puts are kTransient until
  /// it is done: merges fail, or do not keep up. Deletes are kTransient above twice that. Changes
  /// that wait for the disk count, too, except those of the last batch that is taken. >
  /// freeze_bytes, and at most LogTable::kMaxBytes
  std::uint64_t max_unmerged_bytes = std::uint64_t{1} << 30;
  /// How long a step that failed rests before it is tried again: a full disk stays so for a while.
  Duration rest = std::chrono::seconds(5);
};

/// Decides what a shard compacts, and when: events in, actions out, no clock, thread or file.
///
///     compaction.On(Compaction::LogGrew{table.bytes(), log.bytes()}, now);
///     while (const auto action = compaction.Next(now)) Begin(*action);
///     compaction.On(Compaction::Done{}, now);  // Later, when the action has ended.
///
/// One action is under way at a time. The next action depends on how it ends:
///
///     action     effect                                       done       failed: after a rest
///     kFreeze    the log's table is set aside                 kSort      Idle
///     kSort      it becomes a SuffixStore                     Idle       kSort
///     kMerge     all SuffixStores and some of the files       kPublish   Idle
///                become new files
///     kPublish   the manifest names these, durably            kTakeOver  kPublish: the merge holds
///     kTakeOver  queries go over to them                      kRemove    (cannot fail)
///     kRemove    files that the manifest no longer names      Idle       Idle: the next one
///                are removed                                              does it
///
/// From Idle it begins a merge if one is due and allowed, otherwise a freeze if one is due. While a
/// merge waits, what comes in is frozen and sorted, and that merge takes it too. A merge is due in
/// these cases:
/// - the log since the last merge is long;
/// - a requested freeze is done;
/// - the frozen records take more memory than allowed;
/// - a freeze is done that began because the files have much more that was replaced than live.
///
/// A merge therefore always follows a freeze, and the names of its files are new. An empty log is
/// frozen only on request, or to free room in the files.
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
    FileFill files;                    ///< all files together
  };
  /// The shards of a server merge in turns: a merge begins only while `allowed` is true, as it is
  /// at first.
  struct MergeAllowed {
    bool allowed = true;
  };
  /// Requests that all records are merged. The caller has mended the failure, so this ends a rest.
  struct Asked {};
  /// kFreeze is done, and took this part of the log.
  struct Frozen {
    std::uint64_t log_bytes = 0;
  };
  /// Another action is done.
  struct Done {};
  struct Failed {};
  using Event = std::variant<LogGrew, MergeAllowed, Asked, Frozen, Done, Failed>;

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
    std::optional<Action> again;  ///< nullopt: Idle is next
    friend bool operator==(const Resting&, const Resting&) = default;
  };
  using State = std::variant<Idle, Ready, Working, Resting>;

  explicit Compaction(CompactionOptions options = {}) : options_(options) {}

  /// Requires that the action of Frozen, Done or Failed is under way (asserted).
  void On(const Event& event, TimePoint now);

  /// The action to begin now, if there is one. It is under way from here on.
  [[nodiscard]] std::optional<Action> Next(TimePoint now);

  /// Returns the time at which Next() has an action without a further event; a past time means at
  /// once. Returns nullopt if only an event brings an action.
  [[nodiscard]] std::optional<TimePoint> Deadline() const;

  [[nodiscard]] const State& state() const { return state_; }
  /// The action under way.
  [[nodiscard]] std::optional<Action> working() const;
  /// No action is under way, nor due.
  [[nodiscard]] bool idle() const;
  /// A merge is the next action once it is allowed.
  [[nodiscard]] bool WantsMerge(TimePoint now) const;
  /// A failed action waits for its retry.
  [[nodiscard]] bool resting() const { return std::holds_alternative<Resting>(state_); }

 private:
  void On(const LogGrew& grew) { log_ = grew; }
  void On(const MergeAllowed& merge) { merge_allowed_ = merge.allowed; }
  void On(const Asked& asked);
  void On(const Frozen& frozen);
  void OnDone();
  void OnFailed(TimePoint now);

  void EndRest();
  [[nodiscard]] bool IsMergeDue() const;
  [[nodiscard]] bool IsFreezeDue() const;
  [[nodiscard]] bool IsTooMuch() const { return log_.unmerged_bytes > options_.max_unmerged_bytes; }
  // A merge then frees room: in the files that it takes, or in others, see FilesToSweep(). So this
  // ends, if nothing is written.
  [[nodiscard]] bool IsMuchReplaced() const {
    const auto& [bytes, live] = log_.files;
    return bytes - live > live + options_.merge_bytes;
  }
  // The action that Idle goes over to.
  [[nodiscard]] std::optional<Action> Due() const;

  CompactionOptions options_;
  State state_;
  LogGrew log_;
  std::uint64_t unmerged_bytes_ = 0;  // bytes of the log before the last freeze
  bool asked_ = false;                // Since the last freeze began.
  bool freeze_to_merge_ = false;      // The freeze under way is for a merge.
  bool merge_now_ = false;            // independent of the log's length
  bool merge_allowed_ = true;
};

/// "freeze", "sort", ...
[[nodiscard]] std::string_view Describe(Compaction::Action action);

}  // namespace stout::blowfish
