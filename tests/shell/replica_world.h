#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stout/adapters/faulty_store.h"
#include "stout/adapters/memory_store.h"
#include "stout/core/registry_ledger.h"
#include "stout/core/registry_table.h"
#include "stout/replicated_map.h"
#include "tests/support/catch.h"
#include "tests/support/gated_store.h"
#include "tests/support/plain_options.h"

namespace stout {

/// What the coordinator has of one range: the owner's epoch and the record. Transactions that are
/// held wait for Release.
class FakeRegistry {
 public:
  enum class Fault { kNone, kFail, kLoseRequest, kLoseAnswer };

  void Commit(RegistryChange change, ReplicatedRange::CommitHandler handler) {
    held.push_back({std::move(change), std::move(handler)});
    if (!holds) Release();
  }
  void Release() {
    for (Held& each : std::exchange(held, {})) Answer(std::move(each));
  }

  struct Held {
    RegistryChange change;
    ReplicatedRange::CommitHandler handler;

    [[nodiscard]] const RangeRecord& record() const { return std::get<RangeRecord>(*change.value); }
  };

  Epoch owner = 0;
  RangeRecord record;
  Revision revision = 0;
  bool holds = false;
  std::deque<Held> held;
  std::deque<Fault> faults;  ///< of the next transactions
  std::function<Fault()> next_fault;
  std::size_t commits = 0;

 private:
  void Answer(Held each) {
    Fault fault = next_fault ? next_fault() : Fault::kNone;
    if (!faults.empty()) {
      fault = faults.front();
      faults.pop_front();
    }
    if (fault == Fault::kFail) return each.handler(Errc::kTransient, {});
    if (fault == Fault::kLoseRequest) return lost_.push_back(std::move(each.handler));
    const bool owned = each.change.owned->epoch == owner;
    if (owned && each.change.read == revision) {
      record = each.record();
      ++revision;
      ++commits;
    }
    const internal::Judged judged = internal::Judge(
        each.change, {.owned = owned, .as_asked = record == each.record(), .revision = revision});
    if (fault == Fault::kLoseAnswer) return lost_.push_back(std::move(each.handler));
    each.handler(judged.errc, judged.answer);
  }

  std::deque<ReplicatedRange::CommitHandler> lost_;
};

/// A range with three members, each a MemoryStore behind faults and a gate, and its owners. It has
/// one thread, the test's own.
class ReplicaWorld {
 public:
  static constexpr MemberIndex kMembers = 3;

  /// `in`: the members that are in at first. The others are empty.
  explicit ReplicaWorld(MemberIndex in = kMembers, const FaultyOptions& faults = {}) {
    for (MemberIndex m = 0; m < kMembers; ++m) {
      FaultyOptions own{.writes = faults.writes,
                        .reads = faults.reads,
                        .delay_min = faults.delay_min,
                        .delay_max = faults.delay_max,
                        .refuse = [this, m](KeyView key) { return refuse && refuse(m, key); },
                        .seed = faults.seed * kMembers + m};
      auto faulty = std::make_unique<FaultyStore>(
          context.get_executor(), std::make_unique<MemoryStore>(context.get_executor()),
          std::move(own));
      faulty_[m] = faulty.get();
      stores[m] = std::make_unique<GatedStore>(std::move(faulty));
      want.push_back("store-" + std::to_string(m));
      registry.record.members.push_back({.datalet = want[m], .in = m < in});
    }
  }
  ~ReplicaWorld() {
    maps_.clear();
    Turn();
  }

  static ReplicatedMapOptions Quick() {
    ReplicatedMapOptions options;
    options.engine = Plain();
    options.engine.lane.attempt_timeout = std::chrono::milliseconds(20);
    options.engine.lane.retry_first = std::chrono::milliseconds(1);
    options.engine.lane.retry_cap = std::chrono::milliseconds(4);
    options.member_timeout = std::chrono::milliseconds(60);
    return options;
  }
  /// As Quick, but a store may be silent for long.
  static ReplicatedMapOptions Patient() {
    ReplicatedMapOptions options = Quick();
    options.engine.lane.attempt_timeout = options.member_timeout = std::chrono::hours(1);
    return options;
  }

  /// All stores, by name.
  [[nodiscard]] std::vector<Replica> Replicas() const {
    std::vector<Replica> replicas;
    for (const auto& store : stores) {
      replicas.push_back({"store-" + std::to_string(replicas.size()), store.get()});
    }
    return replicas;
  }
  /// Makes the next owner of the range.
  ReplicatedMap& Make(ReplicatedMapOptions options = Quick()) {
    const Epoch epoch = ++registry.owner;
    ReplicatedRange range{
        .record = {registry.record, registry.revision},
        .epoch = epoch,
        .scope = "range",
        .replicas = Replicas(),
        .want = want,
        .contains = contains,
        .commit =
            [this](RegistryChange change, ReplicatedRange::CommitHandler handler) {
              registry.Commit(std::move(change), std::move(handler));
            },
        .on_unfillable = [this](const std::string& datalet, KeyView key,
                                Errc) { unfillable[datalet] = key; },
        .on_given_up =
            [this, epoch](GivenUp cause) {
              given_up = epoch;
              why = cause;
            }};
    maps_.push_back(std::make_unique<ReplicatedMap>(context.get_executor(), std::move(range),
                                                    std::move(options)));
    return *maps_.back();
  }
  /// Makes the next owner and waits until it serves.
  ReplicatedMap& Open(ReplicatedMapOptions options = Quick()) {
    ReplicatedMap& map = Make(std::move(options));
    const ErrorCode ec = Await([&](auto done) { map.Open(std::move(done)); });
    REQUIRE(!ec);
    return map;
  }
  /// As Open, and waits until the range is in the mode of the options and all members are in.
  ReplicatedMap& OpenSettled(const ReplicatedMapOptions& options) {
    ReplicatedMap& map = Open(options);
    RunUntil([&] { return registry.record.strong == options.strong && IsSettled(map); });
    return map;
  }
  void Destroy(ReplicatedMap& map) {
    std::erase_if(maps_, [&](const auto& each) { return each.get() == &map; });
  }

  void Turn() {
    context.restart();
    context.poll();
  }
  /// Fails after two minutes.
  template <typename Predicate>
  void RunUntil(Predicate happened) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    context.restart();
    while (!happened()) {
      if (context.run_one() == 0) context.restart();
      if (std::chrono::steady_clock::now() > deadline) FAIL("waited in vain");
    }
  }
  template <typename Call>
  void On(ReplicatedMap& map, Call call) {
    bool done = false;
    boost::asio::post(map.get_executor(), [&] {
      call();
      done = true;
    });
    RunUntil([&] { return done; });
  }
  /// Returns the error of a call that takes a reply.
  ErrorCode Await(const std::function<void(ReplicatedMap::Reply)>& call) {
    std::optional<ErrorCode> result;
    call([&](ErrorCode ec) { result = ec; });
    RunUntil([&] { return result.has_value(); });
    return *result;
  }

  /// Writes and waits for the answer.
  ErrorCode Put(ReplicatedMap& map, const std::string& key, std::optional<std::string> value) {
    std::optional<ErrorCode> result;
    Begin(map, key, std::move(value), result);
    RunUntil([&] { return result.has_value(); });
    return *result;
  }
  void Begin(ReplicatedMap& map, const std::string& key, std::optional<std::string> value,
             std::optional<ErrorCode>& result) {
    On(map, [&] {
      const Result<Stamp> stamp = value ? map.Put(key, *value) : map.Delete(key);
      if (!stamp) {
        result = stamp.error();
        return;
      }
      const KeyView view = key;
      map.SafeReply({&view, 1}, [&result](ErrorCode ec) { result = ec; });
    });
  }
  /// Returns the value as a client sees it; "-" if there is none.
  std::string Get(ReplicatedMap& map, const std::string& key) {
    std::optional<std::string> result;
    On(map, [&] {
      map.Get(key, [&, key](ErrorCode ec, const ReplicatedMap::Entry& entry) {
        if (ec) {
          result = ec.message();
          return;
        }
        const KeyView view = key;
        map.SafeReply({&view, 1},
                      [&result, value = entry.value ? *entry.value : "-"](ErrorCode error) {
                        result = error ? error.message() : value;
                      },
                      {.members = std::nullopt, .write = false});
      });
    });
    RunUntil([&] { return result.has_value(); });
    return *result;
  }

  /// The member has lost its data: its next write, read or other call reports that.
  void Lose(MemberIndex m) {
    faulty_[m]->ScriptWrite(stout::Fault::kLost);
    faulty_[m]->ScriptRead(stout::Fault::kLost);
  }

  bool IsSettled(const ReplicatedMap& map) { return map.Stats().settled; }
  bool IsIn(MemberIndex m) const { return registry.record.members[m].in; }

  /// The states of a member, past gate and faults, without the keys of the members themselves.
  std::map<std::string, StoredState> StatesOf(MemberIndex m) {
    std::map<std::string, StoredState> states;
    faulty_[m]->underneath().Scan({}, [&](const ScanResult& page) {
      REQUIRE(page.cursor.empty());
      for (const ScannedKey& each : page.keys) {
        if (!each.key.starts_with("stout:")) states[each.key] = each.state;
      }
    });
    return states;
  }

  boost::asio::io_context context{1};
  FakeRegistry registry;
  std::vector<std::string> want;  ///< of the next owners
  std::function<bool(MemberIndex, KeyView)> refuse;
  std::function<bool(KeyView)> contains;  ///< of the range; empty: all keys are
  std::array<std::unique_ptr<GatedStore>, kMembers> stores;
  Epoch given_up = 0;
  std::optional<GivenUp> why;                     ///< it was given up
  std::map<std::string, std::string> unfillable;  ///< the last key of each datalet

 private:
  std::array<FaultyStore*, kMembers> faulty_{};
  std::vector<std::unique_ptr<ReplicatedMap>> maps_;
};

}  // namespace stout
