#include "stout/core/reply_table.h"

#include <chrono>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/engine_driver.h"

namespace stout {
namespace {

using namespace std::chrono_literals;

/// A table and the effects that it writes to.
struct Fixture {
  Replies Ran() { return std::exchange(effects.replies, {}); }
  ReplyTable::Index Wait(ReplyId id, ReplyTable::Ring& ring, Version version) {
    const ReplyTable::Index reply = table.Register(id, now);
    table.DependOn(reply, ring, version);
    table.Seal(reply, Errc::kOk, now);
    return reply;
  }
  Effects effects;
  ReplyTable table{50ms, effects};
  TimePoint now{};
  ReplyTable::Ring ring = ReplyTable::kNone;
  ReplyTable::Ring other = ReplyTable::kNone;
};

TEST_CASE("a reply that waits for nothing runs when it is sealed", "[reply]") {
  Fixture f;
  f.table.Seal(f.table.Register(1, f.now), Errc::kOk, f.now);
  f.table.Seal(f.table.Register(2, f.now), Errc::kFenced, f.now);
  CHECK(f.Ran() == Replies{{1, Errc::kOk}, {2, Errc::kFenced}});
  CHECK(f.table.held() == 0);
}

TEST_CASE("settling a version runs the replies up to it, in order", "[reply]") {
  Fixture f;
  f.Wait(1, f.ring, 10);
  f.Wait(2, f.ring, 10);
  f.Wait(3, f.ring, 11);
  f.table.Settle(f.ring, 9, Errc::kOk, f.now);
  CHECK(f.Ran().empty());
  f.table.Settle(f.ring, 10, Errc::kOk, f.now);
  CHECK(f.Ran() == Replies{{1, Errc::kOk}, {2, Errc::kOk}});
  f.table.Settle(f.ring, 20, Errc::kOk, f.now);
  CHECK(f.Ran() == Replies{{3, Errc::kOk}});
}

TEST_CASE("a reply fails at the first of its keys that cannot be durable", "[reply]") {
  Fixture f;
  const ReplyTable::Index reply = f.table.Register(1, f.now);
  f.table.DependOn(reply, f.ring, 1);
  f.table.DependOn(reply, f.other, 1);
  f.table.DependOn(reply, f.ring, 2);
  f.table.Seal(reply, Errc::kOk, f.now);
  f.table.Settle(f.ring, 1, Errc::kRefused, f.now);
  CHECK(f.Ran() == Replies{{1, Errc::kRefused}});
  f.table.Settle(f.other, 1, Errc::kOk, f.now);  // its waits are gone from both rings
  f.table.Settle(f.ring, 2, Errc::kOk, f.now);
  CHECK(f.Ran().empty());
}

TEST_CASE("a flush waits for all its keys whatever becomes of them", "[reply]") {
  Fixture f;
  const ReplyTable::Index flush = f.table.RegisterFlush(1, f.now);
  f.table.DependOn(flush, f.ring, 1);
  f.table.DependOn(flush, f.other, 1);
  f.table.Seal(flush, Errc::kOk, f.now);
  f.table.Settle(f.ring, 1, Errc::kRefused, f.now);
  CHECK(f.Ran().empty());
  f.table.Settle(f.other, 1, Errc::kOk, f.now);
  CHECK(f.Ran() == Replies{{1, Errc::kRefused}});
}

TEST_CASE("deadlines pass in order of registration", "[reply]") {
  Fixture f;
  CHECK(f.table.NextDeadline() == kNever);
  f.Wait(1, f.ring, 1);
  f.now += 10ms;
  f.Wait(2, f.ring, 1);
  CHECK(f.table.NextDeadline() == TimePoint(50ms));
  f.table.Expire(TimePoint(50ms));
  CHECK(f.Ran() == Replies{{1, Errc::kDeadline}});
  CHECK(f.table.NextDeadline() == TimePoint(60ms));
  f.table.Settle(f.ring, 1, Errc::kOk, f.now);
  CHECK(f.Ran() == Replies{{2, Errc::kOk}});
  CHECK(f.table.NextDeadline() == kNever);
}

TEST_CASE("a key that fails ends its replies and flushes once", "[reply]") {
  Fixture f;
  f.Wait(1, f.ring, 1);
  const ReplyTable::Index flush = f.table.RegisterFlush(2, f.now);
  f.table.DependOn(flush, f.ring, 1);
  f.table.Seal(flush, Errc::kOk, f.now);
  f.table.Settle(f.ring, 1, Errc::kClosed, f.now);
  CHECK(f.Ran() == Replies{{1, Errc::kClosed}, {2, Errc::kClosed}});
  f.table.Settle(f.ring, 1, Errc::kOk, f.now);
  CHECK(f.Ran().empty());
  CHECK(f.table.held() == 0);
}

TEST_CASE("a reply that is withdrawn neither runs nor counts", "[reply]") {
  Fixture f;
  const ReplyTable::Index reply = f.table.Register(1, f.now);
  f.table.DependOn(reply, f.ring, 1);
  f.table.DependOn(reply, f.other, 1);
  f.table.Seal(reply, Errc::kOk, f.now);
  f.Wait(2, f.ring, 1);
  CHECK_FALSE(f.table.Withdraw(reply, 2));  // another's
  CHECK(f.table.Withdraw(reply, 1));
  CHECK_FALSE(f.table.Withdraw(reply, 1));
  CHECK(f.table.held() == 1);
  CHECK(f.table.failed() == 0);
  f.table.Settle(f.other, 1, Errc::kOk, f.now);
  CHECK(f.Ran().empty());
  f.table.Settle(f.ring, 1, Errc::kOk, f.now);
  CHECK(f.Ran() == Replies{{2, Errc::kOk}});
  CHECK(f.table.latency().count() == 1);
  CHECK(f.table.held() == 0);
  CHECK(f.table.NextDeadline() == kNever);
}

TEST_CASE("a flush can be withdrawn when one of its keys is settled", "[reply]") {
  Fixture f;
  const ReplyTable::Index flush = f.table.RegisterFlush(1, f.now);
  f.table.DependOn(flush, f.ring, 1);
  f.table.DependOn(flush, f.other, 1);
  f.table.Seal(flush, Errc::kOk, f.now);
  f.table.Settle(f.ring, 1, Errc::kOk, f.now);
  CHECK(f.table.Withdraw(flush, 1));
  CHECK(f.table.held() == 0);
  f.table.Settle(f.other, 1, Errc::kOk, f.now);
  CHECK(f.Ran().empty());
}

TEST_CASE("latency is from registration to the end, flushes aside", "[reply]") {
  Fixture f;
  f.Wait(1, f.ring, 1);
  f.table.Settle(f.ring, 1, Errc::kOk, TimePoint(7ms));
  f.table.Seal(f.table.RegisterFlush(2, f.now), Errc::kOk, TimePoint(9ms));
  CHECK(f.table.latency().count() == 1);
  CHECK(f.table.latency().max() == 7'000'000);
}

}  // namespace
}  // namespace stout
