#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stout/core/relaxed_reads.h"
#include "stout/sim/event_queue.h"
#include "stout/sim/random.h"
#include "stout/sim/trace.h"
#include "tests/cluster/cluster_options.h"
#include "tests/cluster/datalet_model.h"
#include "tests/cluster/owner.h"
#include "tests/sim/history.h"
#include "tests/support/history_checker.h"

namespace stout::sim {

/// As in a history.
inline std::int64_t Nanoseconds(TimePoint at) { return at.time_since_epoch().count(); }

/// One range of a cluster: nodes that may own it, the stores that are its members, and the
/// coordinator. Messages are lost, late and doubled. Nodes pause and crash. Stores crash, with and
/// without their memory. Clocks differ.
///
///  1. Mode sc: the history of each key is linearizable.
///  2. Mode sc: a member that is in has each acknowledged write. A member is always in. A mark
///     never covers a version that a member that is in lacks.
///  3. An acknowledged set or delete that a member had at a take-over is not lost to an older one:
///     see IsOlder. After mode aa+ec, this includes members that were away at the take-over.
///  4. The relaxed reads of a session do not go back while its member is in. One with a bound shows
///     each write that was acknowledged before. In mode ec, this holds for the present owner's.
///  5. A write at a level is durable at this number of members when it is answered.
///  6. Once faults stop, the range has an owner, all wanted members are in, all members are equal,
///     the lazy one too, and requests end. Members are equal if they have the same values under the
///     same stamps; but a copy that a later owner made has a newer stamp. No two changes have the
///     same stamp. While one disk of several is full, all requests end as well.
class ClusterWorld final : private OwnerWorld {
 public:
  ClusterWorld(const ClusterOptions& options, bool print);

  /// Runs to the end, or to the first violation.
  void Run();

  [[nodiscard]] const Verdict& verdict() const { return verdict_; }
  [[nodiscard]] std::uint64_t digest() const { return trace_.digest(); }
  struct Counts {
    std::uint64_t answered = 0;
    std::uint64_t owners = 0;
    std::uint64_t changes = 0;  ///< of the record
    std::uint64_t fills = 0;
    std::uint64_t drops = 0;
    std::uint64_t joins = 0;  ///< of datalets that the record had not
    std::uint64_t sweeps = 0;
    std::uint64_t repairs = 0;
    std::uint64_t unknown_commits = 0;
    std::uint64_t undecided = 0;
    std::uint64_t relaxed = 0;  ///< reads at members
    std::uint64_t bounded = 0;  ///< of these
    std::uint64_t causal = 0;   ///< likewise
    std::uint64_t shared = 0;   ///< times that all nodes began to write
    std::uint64_t merges = 0;   ///< that the record names

    Counts& operator+=(const Counts& other);
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] const std::vector<test::Operation>& history() const { return history_; }
  /// Returns the datalets that should be members. In the end they are, or the verdict is bad.
  [[nodiscard]] const std::vector<std::string>& wanted() const { return wanted_; }

 private:
  /// A time in which the record says sc. In it the history is linearizable from these states on.
  struct Strong {
    TimePoint from{};
    TimePoint until = kNever;
    std::map<std::string, std::optional<std::string>> states;
  };
  struct Node {
    bool up = true;
    std::uint64_t boot = 0;
    TimePoint paused_until{};
    double drift = 0;  // of its clock, as a share
    Duration offset{};
    std::shared_ptr<Owner> owner;
    std::shared_ptr<Owner> writer;  // to the shared range
    HybridClock clock;
    SessionId session = 0;    // of the owner
    TimePoint valid_until{};  // of its lease, by its clock
    TimePoint renew_at{};
    std::vector<TimePoint> cut_until;  // links to datalets
    RangeRecord seen;                  // the record, as the node was told
    Revision seen_revision = 0;
  };
  /// A client that reads at members, by one node.
  struct Session {
    std::uint32_t node = 0;
    std::uint64_t boot = 0;  // of the node
    std::uint64_t serial = 0;
    std::unique_ptr<internal::RelaxedReads> reads{};
    std::string member{};                  // of the last read
    std::map<std::string, Stamp> shown{};  // while that is in, by key
    bool causal = false;
    internal::CausalToken token{};
    TimePoint seen{};  // the newest state that it was shown was written after this
    std::map<std::string, StoredState> causes{};  // what it was shown by any member, by key
  };
  struct RelaxedRead {
    std::size_t session;
    std::uint64_t serial;
    RangeRecord::Member member;
    std::string key;
    TimePoint asked;
    TimePoint asked_by_clock;  // of the node
    std::optional<Duration> staleness{};
    TimePoint seen{};  // as Session::seen
    Epoch swept = 0;   // RangeRecord::swept, as the node has seen it
    StoredState identity{};
    StoredState mark{};
    StoredState state{};
    std::string life{};  // of the member's store
    bool goes_back = false;
    bool is_stale = false;
    bool lacks_cause = false;
  };
  struct Acknowledged {
    TimePoint at;
    Stamp stamp;
    bool by_all = false;  // that were in
  };

  // OwnerWorld.
  void Call(std::uint32_t node, std::size_t datalet, AtDatalet request, Answer refused) override;
  void CallRegistry(std::uint32_t node, AtRegistry request) override;
  void After(std::uint32_t node, Duration delay, std::function<void()> timer) override;
  [[nodiscard]] TimePoint Now(std::uint32_t node) const override;
  std::uint64_t Draw() override { return random_.Below(1000); }
  void OnEnd(std::size_t request, Ending ending, std::optional<std::string> value) override;
  void OnChange(std::size_t request, const std::string& key, Stamp stamp) override;
  [[nodiscard]] Stamp StampAt(std::size_t datalet, const std::string& key) const override {
    return datalets_[datalet].state(key).stamp;
  }
  void OnMissed(const std::string& key) override {
    verdict_.Fail("a read misses what a member has of " + key);
  }
  void OnChangedByItself(const std::string& key) override {
    verdict_.Fail(key + " was shown, and changes by itself");
  }
  void OnMark(const Mark& mark) override;
  void OnRepair() override { ++counts_.repairs; }
  void OnUnknownCommit() override { ++counts_.unknown_commits; }
  void OnReverted() override {
    verdict_.Fail("an owner goes on with an older copy although a member has all data");
  }
  void OnGivenUp(std::uint32_t node, Epoch lease) override;

  // The network.
  [[nodiscard]] Duration Latency();
  void Deliver(std::uint32_t node, std::uint64_t boot, std::function<void()> what);
  void SendAnswer(std::uint32_t node, std::uint64_t boot, const Answer& answer);

  // Nodes and leases.
  void TickNode(std::uint32_t node);
  void Acquire(std::uint32_t node);
  void Renew(std::uint32_t node);
  void EndOwner(std::uint32_t node);
  void Crash(std::uint32_t node);
  void ReserveVersions(std::uint32_t node, bool restarts);
  void FollowSharing(std::uint32_t node);
  void EndWriter(std::uint32_t node);
  [[nodiscard]] bool Owns(std::uint32_t node) const;
  [[nodiscard]] bool Lies() const;

  // Clients.
  void Ask(std::uint32_t client);
  void Submit(std::uint32_t client, std::uint32_t node, const test::Operation& operation);
  [[nodiscard]] std::optional<std::uint32_t> AnyOwner();
  [[nodiscard]] std::optional<std::uint32_t> AnyServer();

  // Sessions at members.
  void TellRecord();
  void AskRelaxed();
  void OnRelaxed(const RelaxedRead& read);
  [[nodiscard]] bool LacksWrite(const RelaxedRead& read, std::size_t member,
                                TimePoint before) const;
  [[nodiscard]] bool ShowsAll(const Session& session, const RelaxedRead& read) const;
  [[nodiscard]] bool LacksShown(const Session& session, const RelaxedRead& read,
                                std::size_t member) const;
  void NoteShown(Session& session, const RelaxedRead& read);
  void CheckLevel(std::size_t write, std::uint32_t level);

  // The phases.
  void RunUntil(TimePoint end);
  void Step();
  void Trouble();
  void Split();
  TimePoint Disturb(const char* what, Duration time, std::uint64_t a, std::uint64_t b = 0);
  [[nodiscard]] bool Forgets() const;
  void Empty(std::size_t datalet);
  void ChangeMode();
  void ChangeWanted();
  void Replace(std::size_t datalet_id);
  void Place(std::size_t datalet_id);
  void Heal();
  void Settle();
  void ExpectService();
  void ExpectServiceWithFullDisk();
  void ExpectEqualMembers();
  [[nodiscard]] bool IsLazy(std::size_t datalet) const {
    return options_.has_lazy && datalet + 1 == options_.datalets;
  }

  // Checks.
  void OnRecord(const RangeRecord& before);
  [[nodiscard]] bool IsForgotten(const std::string& key, std::size_t member, Stamp stamp) const;
  void CheckAcked(const std::string& key, Stamp stamp, const char* when);
  void BeginStrong();
  void CheckHistory();
  void CheckHistory(const Strong& strong);
  [[nodiscard]] bool IsOlder(const StoredState& state, std::size_t write) const;
  [[nodiscard]] bool IsAwaited(std::size_t datalet, const RangeRecord::Member& member) const;
  [[nodiscard]] bool IsKept(std::size_t write) const;
  void CheckOwed();
  [[nodiscard]] std::vector<std::size_t> In() const;
  [[nodiscard]] TimePoint now() const { return agenda_.now(); }

  ClusterOptions options_;
  Random random_;
  Random read_random_;  // of relaxed reads, which leave the rest as it is
  Trace trace_;
  Verdict verdict_;
  EventQueue<std::function<void()>> agenda_;
  RegistryModel registry_;
  std::vector<DataletModel> datalets_;
  std::vector<Node> nodes_;
  std::vector<Session> sessions_;
  Mode want_mode_;
  std::vector<std::uint64_t> reserved_;            // versions, by node
  Duration widest_{};                              // the offset of a clock that has gone back
  std::vector<std::string> wanted_;                // datalets
  std::vector<std::string> lazy_;                  // likewise
  std::map<std::string, Recorded<Datalet>> live_;  // those that a placement may choose
  TimePoint disturbed_until_{};
  bool healed_ = false;
  Counts counts_;

  std::vector<test::Operation> history_;
  std::vector<std::optional<std::size_t>> clients_;  // the request under way
  std::vector<TimePoint> asked_at_;
  std::uint64_t last_value_ = 0;
  std::vector<Strong> strong_;
  std::map<std::size_t, Stamp> changed_;  // by request
  std::set<std::pair<std::string, Stamp>> stamps_;
  std::map<std::string, Stamp> acked_;  // the newest in mode sc, by key
  std::map<std::string, std::vector<Acknowledged>> acknowledged_;
  std::set<std::size_t> relaxed_gets_;           // by nodes without the lease
  std::map<std::size_t, std::uint32_t> levels_;  // of writes that asked for one
  Epoch newest_epoch_ = 0;                       // of an owner
  std::vector<std::size_t> all_acked_;           // writes
  std::set<std::size_t> owed_;   // ... that a member that is in, or is apart, has, or a newer state
  std::set<std::size_t> apart_;  // datalets: see IsAwaited
  Epoch last_shared_ = 0;
  std::map<std::string, std::size_t> writer_;  // of a value
  std::map<std::string, std::map<Epoch, std::vector<Version>>> changes_;
  std::map<std::string, Stamp> erased_;  // the newest erase of each key
};

}  // namespace stout::sim
