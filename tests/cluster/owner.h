#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "stout/core/engine.h"
#include "stout/core/hybrid_clock.h"
#include "stout/core/range_keeper.h"
#include "stout/core/replica_set.h"
#include "stout/core/strong_reads.h"
#include "tests/cluster/cluster_options.h"
#include "tests/cluster/datalet_model.h"

namespace stout::sim {
using namespace stout::internal;

/// A request of a client: a get, a set, or a delete.
struct Request {
  enum class Kind { kGet, kSet, kDelete };
  std::size_t id = 0;
  Kind kind = Kind::kGet;
  std::string key;
  std::string value;
  std::optional<std::uint32_t> level{};  ///< of a write: as AnswerLevel::members
};

enum class Mode { kMsSc, kMsEc, kAaEc };

enum class Ending { kDone, kRefused, kUnknown };

/// What an owner needs from the world around it.
class OwnerWorld {
 public:
  /// Runs what the request returns on the node, if neither request nor answer is lost. `refused`
  /// runs instead if the store is down and says so.
  using Answer = std::function<void()>;
  using AtDatalet = std::function<Answer(DataletModel&)>;
  virtual void Call(std::uint32_t node, std::size_t datalet, AtDatalet request, Answer refused) = 0;
  using AtRegistry = std::function<Answer(RegistryModel&, TimePoint now)>;
  virtual void CallRegistry(std::uint32_t node, AtRegistry request) = 0;
  /// Runs `timer` on the node at this time of its clock.
  virtual void After(std::uint32_t node, Duration delay, std::function<void()> timer) = 0;
  [[nodiscard]] virtual TimePoint Now(std::uint32_t node) const = 0;
  /// Below 1000.
  virtual std::uint64_t Draw() = 0;

  virtual void OnEnd(std::size_t request, Ending ending, std::optional<std::string> value) = 0;
  /// A change got its stamp; `request` is kNobody for those of the owner itself.
  virtual void OnChange(std::size_t request, const std::string& key, Stamp stamp) = 0;
  /// For checks: what this datalet has of a key now.
  [[nodiscard]] virtual Stamp StampAt(std::size_t datalet, const std::string& key) const = 0;
  /// A read in a shared range shows less than a member had that is in at this node.
  virtual void OnMissed(const std::string& key) = 0;
  /// In mode sc, a state that the owner has shown changes without a client's change.
  virtual void OnChangedByItself(const std::string& key) = 0;
  virtual void OnMark(const Mark& mark) = 0;
  virtual void OnRepair() = 0;
  /// A transaction was not answered in time.
  virtual void OnUnknownCommit() = 0;
  virtual void OnReverted() = 0;
  /// `lease`: its epoch; 0 if the range was written to without it.
  virtual void OnGivenUp(std::uint32_t node, Epoch lease) = 0;

  static constexpr std::size_t kNobody = SIZE_MAX;

 protected:
  ~OwnerWorld() = default;
};

/// A range's owner: the shell in small. It drives one Engine for each member, ReplicaSet,
/// RangeKeeper and StrongReads, and keeps values in memory.
class Owner final : private StateSource, public std::enable_shared_from_this<Owner> {
 public:
  /// `clock`: of a node that writes to a shared range, without its lease.
  Owner(const ClusterOptions& options, OwnerWorld& world, std::uint32_t node, Epoch lease,
        Recorded<RangeRecord> record, HybridClock* clock = nullptr);

  void Start(std::vector<std::string> wanted, std::vector<std::string> lazy, Mode mode);
  void Serve(const Request& request);
  void Want(std::vector<std::string> datalets);
  void WantMode(Mode mode);
  void RefreshMark();
  /// Calls each member, as a node does from time to time, so that a loss is noticed without load.
  void AskMembers();
  /// The node has crashed or lost its lease: all requests end.
  void Stop();

  [[nodiscard]] const RangeKeeper& keeper() const { return *keeper_; }
  [[nodiscard]] const ReplicaSet& set() const { return set_; }
  /// Under which it writes.
  [[nodiscard]] Epoch epoch() const { return set_.epoch(); }
  [[nodiscard]] Epoch lease() const { return lease_; }
  /// It writes to a shared range, without its lease.
  [[nodiscard]] bool only_writes() const { return clock_ != nullptr; }

 private:
  struct Member {
    std::unique_ptr<Engine> engine;
    std::uint64_t opened = 0;       // counts engines, so that late answers are known
    std::uint64_t incarnation = 0;  // of the store; 0: not known
    std::uint64_t lost = 0;         // the last incarnation whose loss was reported
  };

  struct Reading {
    Request request;
    std::map<MemberIndex, Stamp> had;  // by the members of a shared range when it was asked
  };

  Serialized Serialize(KeyView key, std::string& value) noexcept override;
  [[nodiscard]] bool IsDirty(const std::string& key, MemberMask except = 0) const;
  void Evict();
  [[nodiscard]] TimePoint Now() const { return world_.Now(node_); }
  /// Versions of changes that follow each other closely differ all the same.
  [[nodiscard]] TimePoint CoarseNow() const {
    return std::chrono::floor<std::chrono::milliseconds>(Now());
  }

  [[nodiscard]] MemberIndex members() const {
    return static_cast<MemberIndex>(keeper_->record().members.size());
  }
  [[nodiscard]] std::size_t DataletOf(MemberIndex m) const {
    return sim::DataletOf(keeper_->record().members[m].datalet);
  }

  // Requests.
  void Read(const Request& request);
  [[nodiscard]] std::map<MemberIndex, Stamp> HadByMembers(const std::string& key) const;
  void CheckNotMissed(const Reading& reading, Stamp shown);
  bool Change(std::size_t request, const std::string& key, std::optional<std::string> value,
              MemberMask members = 0);
  void ShowFound(const std::string& key, const std::optional<std::string>& value);
  void ShowRepaired(const std::string& key, const StoredState& state);
  void Show(const std::string& key, const std::optional<std::string>& value);
  void Ask(const Request& request, const Need& need);
  void End(std::size_t id, Ending ending, std::optional<std::string> value);

  // The loop.
  void Pump();
  bool Turn();
  void OnRead(const reads::Done& done);
  bool Poll(MemberIndex m);

  // Calls of stores.
  template <typename Result>
  void CallForEngine(MemberIndex m, std::function<Result(DataletModel&)> call,
                     std::function<void(Engine&, const Result&)> answer, Result refused);
  void SendWrite(MemberIndex m, WriteBatch batch);
  void SendRead(MemberIndex m, const ReadBatch& batch);
  template <typename Result>
  void CallMember(MemberIndex m, range::Attempt attempt, std::function<Result(DataletModel&)> call,
                  std::function<void(const Result&)> answer, Result unknown);
  [[nodiscard]] bool IsLost(const DataletModel& store, std::uint64_t incarnation) const {
    return incarnation != 0 && store.incarnation() != incarnation &&
           options_.mistake != Mistake::kEmptyKept;
  }
  /// Reports the loss of this incarnation once.
  void OnLost(MemberIndex m, std::uint64_t incarnation);
  template <typename Result>
  void NoteProgress(MemberIndex m, const Result& result) {
    constexpr bool kWrote = std::is_same_v<Result, WriteResult>;
    if constexpr (kWrote) {
      if (result.batch != Errc::kOk || !result.items.empty()) return;
    }
    keeper_->OnProgress(m, kWrote, Now());
  }

  // The keeper's actions.
  void Run(const range::Action& action);
  void Do(const range::Fence& fence);
  void Do(const range::Read& read);
  void Do(const range::Scan& scan);
  void Do(const range::Copy& copy);
  void Do(const range::Commit& commit);
  void Do(const range::Open& open);
  void Do(const range::Shut& shut);
  void Do(const range::Barrier& barrier);
  void Do(const range::Settle& settle);
  void Do(const range::Change& change);
  void Do(const range::Serve&) {}
  void Do(const range::Unfillable&) {}
  void Do(const range::Revert&) { world_.OnReverted(); }
  void Do(const range::GiveUp&) { given_up_ = true; }

  const ClusterOptions& options_;
  OwnerWorld& world_;
  const std::uint32_t node_;
  const Epoch lease_;
  HybridClock* const clock_;
  ReplicaSet set_;
  std::optional<RangeKeeper> keeper_;
  StrongReads reads_;
  std::array<Member, 8> members_;
  std::map<std::string, std::optional<std::string>, std::less<>> memory_;
  std::map<std::string, std::optional<std::string>> shown_;  // in mode sc
  std::map<ReplyId, std::pair<std::size_t, std::optional<std::string>>> asked_;
  std::map<FetchId, Reading> reading_;
  std::set<std::size_t> open_;
  std::set<range::Attempt> calls_;
  std::uint64_t last_id_ = 0;
  TimePoint wake_ = kNever;
  std::uint64_t wakes_ = 0;
  bool pumping_ = false;
  bool stopped_ = false;
  bool given_up_ = false;
  bool opened_ = false;  // a filling member's engine, since the last barrier
};

// A call of the keeper; it is answered once, at the latest after a while.
template <typename Result>
void Owner::CallMember(MemberIndex m, range::Attempt attempt,
                       std::function<Result(DataletModel&)> call,
                       std::function<void(const Result&)> answer, Result unknown) {
  calls_.insert(attempt);
  const auto self = shared_from_this();
  const std::uint64_t incarnation = members_[m].incarnation;
  const auto done = [self, attempt, answer](const Result& result) {
    if (self->stopped_ || self->calls_.erase(attempt) == 0) return;
    answer(result);
    self->Pump();
  };
  world_.Call(
      node_, DataletOf(m),
      [self, m, attempt, call, done, incarnation](DataletModel& store) -> OwnerWorld::Answer {
        if (self->IsLost(store, incarnation)) {
          return [self, m, incarnation] { self->OnLost(m, incarnation); };
        }
        return [self, m, attempt, done, result = call(store)] {
          const bool awaited = self->calls_.contains(attempt);
          if (awaited || !std::is_same_v<Result, ReadResult>) self->NoteProgress(m, result);
          done(result);
        };
      },
      [done, unknown] { done(unknown); });
  world_.After(node_, options_.engine.lane.attempt_timeout, [done, unknown] { done(unknown); });
}

}  // namespace stout::sim
