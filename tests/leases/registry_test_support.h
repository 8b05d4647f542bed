#pragma once

#include <boost/asio/thread_pool.hpp>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lease_test_support.h"
#include "stout/in_process_leases.h"
#include "stout/registry.h"

namespace stout::test {

/// Leases in this process. The registry is the test's.
class LeasesAlone : public LeaseService {
 public:
  void Join(const LeaseMember& member, JoinHandler handler) override {
    leases_.Join(member, std::move(handler));
  }
  void KeepAlive(SessionId session, Handler handler) override {
    leases_.KeepAlive(session, std::move(handler));
  }
  void Leave(SessionId session, Handler handler) override {
    leases_.Leave(session, std::move(handler));
  }
  void Acquire(SessionId session, RangeId range, AcquireHandler handler) override {
    leases_.Acquire(session, range, std::move(handler));
  }
  void Release(SessionId session, RangeId range, Epoch epoch, Handler handler) override {
    leases_.Release(session, range, epoch, std::move(handler));
  }
  Watch WatchTable(TableHandler handler) override { return leases_.WatchTable(std::move(handler)); }

 private:
  boost::asio::thread_pool pool_{1};
  InProcessLeases leases_{pool_.get_executor()};
};

struct Changed {
  ErrorCode ec;
  ChangeAnswer answer;
};

inline Changed Change(LeaseService& service, RegistryChange change) {
  Answer<Changed> answer;
  REQUIRE(service.registry() != nullptr);
  service.registry()->Change(std::move(change), answer.Handler<ErrorCode, ChangeAnswer>());
  return answer.Get();
}
// The outcome of a change that the service can judge.
inline ChangeAnswer Judge(LeaseService& service, RegistryChange change) {
  const Changed changed = Change(service, std::move(change));
  CAPTURE(changed.ec.message());
  REQUIRE_FALSE(changed.ec);
  return changed.answer;
}
// A change that must succeed. Returns the new revision.
inline Revision Make(LeaseService& service, RegistryChange change) {
  const ChangeAnswer answer = Judge(service, std::move(change));
  REQUIRE(answer.outcome == ChangeOutcome::kDone);
  return answer.revision;
}

struct HasRead {
  ErrorCode ec;
  RegistryTable table;
};
inline HasRead TryRead(LeaseService& service) {
  Answer<HasRead> answer;
  service.registry()->Read(answer.Handler<ErrorCode, RegistryTable>());
  return answer.Get();
}
inline RegistryTable Read(LeaseService& service) {
  HasRead read = TryRead(service);
  REQUIRE_FALSE(read.ec);
  return std::move(read.table);
}

// Waits for the records that a watch reports.
class RecordWatch {
 public:
  explicit RecordWatch(LeaseService& service)
      : watch_(service.registry()->WatchRecords([state = state_](RegistryTable table) {
          const std::lock_guard lock(state->mutex);
          state->tables.push_back(std::move(table));
          state->changed.notify_all();
        })) {}

  template <typename Predicate>
  [[nodiscard]] bool Until(Predicate holds) {
    std::unique_lock lock(state_->mutex);
    return state_->changed.wait_for(
        lock, 30s, [&] { return !state_->tables.empty() && holds(state_->tables.back()); });
  }
  [[nodiscard]] bool Until(const RegistryTable& table) {
    return Until([&](const RegistryTable& seen) { return seen == table; });
  }
  // All that were reported so far, in order.
  [[nodiscard]] std::vector<RegistryTable> tables() const {
    const std::lock_guard lock(state_->mutex);
    return state_->tables;
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<RegistryTable> tables;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
  Registry::Watch watch_;
};

inline RangeRecord OnlyIn(const std::string& datalet) {
  return {.members = {{datalet, true, TimePoint(1s)}}};
}

// What a registry does wrong when two owners of a range change its set in succession; empty if
// nothing. A negative control needs it as a value.
inline std::string CheckSuccessiveOwners(LeaseService& first, LeaseService& second) {
  constexpr RangeId kRange = 3;
  constexpr auto kDone = ChangeOutcome::kDone;
  constexpr auto kChanged = ChangeOutcome::kChanged;
  constexpr auto kNotOwner = ChangeOutcome::kNotOwner;
  const SessionId a = Join(first, "a:1");
  const SessionId b = Join(second, "b:1");
  const Epoch former = Take(first, a, kRange);
  const ChangeAnswer written = Judge(first, ChangeSet(kRange, former, OnlyIn("one"), 0));
  if (written.outcome != kDone) return "the owner cannot write the first set";
  if (Judge(first, ChangeSet(kRange, former, OnlyIn("two"), 0)).outcome != kChanged) {
    return "a set is changed that was not read";
  }
  REQUIRE_FALSE(Release(first, a, kRange, former));
  const auto change = [&](LeaseService& service, Epoch epoch, const char* datalet, Revision read) {
    return Judge(service, ChangeSet(kRange, epoch, OnlyIn(datalet), read)).outcome;
  };
  if (change(first, former, "two", written.revision) != kNotOwner) {
    return "an owner that has released the range changes its set";
  }
  for (const Epoch none : {Epoch{0}, Epoch{1}}) {
    if (change(first, none, "two", written.revision) != kNotOwner) {
      return "a set of a free range is changed";
    }
  }
  const Epoch later = Take(second, b, kRange);
  const Epoch other = Take(second, b, kRange + 1);
  if (change(first, former, "two", written.revision) != kNotOwner) {
    return "the former owner changes the set";
  }
  if (change(second, other, "two", written.revision) != kNotOwner) {
    return "the owner of another range changes the set";
  }
  const auto sets = Read(second).sets;
  if (sets.size() != 1 ||
      sets.at(kRange) != Recorded<RangeRecord>{OnlyIn("one"), written.revision}) {
    return "a refused change changed the set";
  }
  const ChangeAnswer rewritten =
      Judge(second, ChangeSet(kRange, later, OnlyIn("three"), written.revision));
  if (rewritten.outcome != kDone) return "the later owner cannot change the set";
  if (rewritten.revision <= written.revision) return "a revision does not grow";
  if (change(first, former, "four", rewritten.revision) != kNotOwner) {
    return "the former owner changes the set, whose revision it knows";
  }
  // A change that was done counts as done when it is repeated; under a former epoch it does not.
  const ChangeAnswer repeated =
      Judge(second, ChangeSet(kRange, later, OnlyIn("three"), written.revision));
  if (repeated != rewritten) return "a repeated change is refused";
  if (change(first, former, "three", written.revision) != kNotOwner) {
    return "the former owner is told that its change is done";
  }
  REQUIRE_FALSE(Leave(second, b));
  if (change(second, later, "five", rewritten.revision) != kNotOwner) {
    return "a session that has ended changes the set";
  }
  REQUIRE_FALSE(Leave(first, a));
  return {};
}

// Returns how a registry fails to compare the session of a change; empty if it does not.
inline std::string CheckEndedSession(LeaseService& service) {
  const SessionId session = Join(service, "a:1");
  REQUIRE_FALSE(Leave(service, session));
  const Changed changed = Change(service, AddDatalet("a", {.url = "stout://a:1"}, session));
  if (changed.ec != Errc::kFenced) return "a session that has ended adds a datalet";
  return Read(service).datalets.empty() ? "" : "a refused change added a datalet";
}

}  // namespace stout::test
