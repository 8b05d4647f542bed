#pragma once

#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stout/lease_service.h"
#include "stout/lease_watcher.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace stout::test {

using namespace std::chrono_literals;

constexpr RangeId kRanges = 8;

// Returns the answer to a call, within half a minute.
template <typename T>
class Answer {
 public:
  template <typename... Args>
  auto Handler() {
    return [promise = promise_](Args... args) { promise->set_value(T{std::move(args)...}); };
  }
  T Get() {
    auto future = promise_->get_future();
    REQUIRE(future.wait_for(30s) == std::future_status::ready);
    return future.get();
  }

 private:
  std::shared_ptr<std::promise<T>> promise_ = std::make_shared<std::promise<T>>();
};

struct Joined {
  ErrorCode ec;
  SessionId session = 0;
};
struct Acquired {
  ErrorCode ec;
  std::optional<Epoch> epoch;
};
struct Done {
  ErrorCode ec;
};

// Repeats what a service in trouble cannot do yet. `call` answers an error code.
template <typename Call>
ErrorCode AtLast(Call call) {
  ErrorCode ec;
  (void)Eventually([&] {
    ec = call();
    return ec != Errc::kTransient && ec != Errc::kUnknown;
  });
  return ec;
}

inline Joined Join(LeaseService& service, const LeaseMember& member) {
  Answer<Joined> answer;
  service.Join(member, answer.Handler<ErrorCode, SessionId>());
  return answer.Get();
}
// One that must succeed, perhaps late on a busy machine. A lost answer leaves a second session of
// the same member.
inline SessionId Join(LeaseService& service, const std::string& address, Duration ttl = 30s) {
  Joined joined;
  const auto join = [&] {
    joined = Join(service, LeaseMember{address, kRanges, ttl});
    return joined.ec;
  };
  REQUIRE_FALSE(AtLast(join));
  REQUIRE(joined.session != 0);
  return joined.session;
}
inline ErrorCode KeepAlive(LeaseService& service, SessionId session) {
  Answer<Done> answer;
  service.KeepAlive(session, answer.Handler<ErrorCode>());
  return answer.Get().ec;
}
inline ErrorCode Leave(LeaseService& service, SessionId session) {
  Answer<Done> answer;
  service.Leave(session, answer.Handler<ErrorCode>());
  return answer.Get().ec;
}
inline Acquired Acquire(LeaseService& service, SessionId session, RangeId range) {
  Answer<Acquired> answer;
  service.Acquire(session, range, answer.Handler<ErrorCode, std::optional<Epoch>>());
  return answer.Get();
}
// One that must succeed.
inline Epoch Take(LeaseService& service, SessionId session, RangeId range) {
  const Acquired acquired = Acquire(service, session, range);
  REQUIRE_FALSE(acquired.ec);
  REQUIRE(acquired.epoch);
  return *acquired.epoch;
}
inline ErrorCode Release(LeaseService& service, SessionId session, RangeId range, Epoch epoch) {
  Answer<Done> answer;
  service.Release(session, range, epoch, answer.Handler<ErrorCode>());
  return answer.Get().ec;
}

// Waits for what a watch tells.
class TableWatch {
 public:
  explicit TableWatch(LeaseService& service)
      : watcher_(service, [this](const auto&) { Changed(); }) {}

  template <typename Predicate>
  [[nodiscard]] bool Until(Predicate holds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, [&] { return holds(*watcher_.table()); });
  }
  [[nodiscard]] bool UntilFree(RangeId range) {
    return Until([range](const LeaseTable& table) {
      return range < table.ranges.size() && !table.ranges[range];
    });
  }
  [[nodiscard]] bool UntilOwned(RangeId range, const Lease& lease) {
    return Until([&](const LeaseTable& table) {
      return range < table.ranges.size() && table.ranges[range] == lease;
    });
  }
  [[nodiscard]] bool UntilOwned(RangeId range, SessionId session) {
    return Until([&](const LeaseTable& table) {
      return range < table.ranges.size() && table.ranges[range] &&
             table.ranges[range]->session == session;
    });
  }
  [[nodiscard]] bool UntilMembers(const std::vector<std::string>& members) {
    return Until([&](const LeaseTable& table) { return table.members == members; });
  }

 private:
  void Changed() {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  LeaseWatcher watcher_;
};

}  // namespace stout::test
