// The contract of every store that detects a loss of acknowledged writes: Errc::kLost.

#include <set>
#include <string>

#include "store_test_support.h"
#include "tests/support/catch.h"
#ifdef STOUT_TEST_REDIS_CLUSTER
#include "redis_cluster_fixture.h"
#else
#include "store_fixtures.h"
#endif

namespace stout::test {
namespace {

using Calls = std::set<std::string>;

const Calls kAllCalls = {"write", "read", "epoch", "fence", "scan"};

// The calls that a store does not answer with kLost.
Calls NotLost(Store& store) {
  Calls calls;
  const auto note = [&](const char* call, ErrorCode ec) {
    if (ec != Errc::kLost) calls.insert(call);
  };
  note("write", WriteNow(store, Batch(1, {Put("probe", "v", 1)})).batch);
  note("read", ReadNow(store, {"probe"}).errc);
  note("epoch", AskEpochNow(store).first);
  note("fence", FenceNow(store, "s", 1));
  note("scan", ScanNow(store, {}).errc);
  return calls;
}

// What can be lost while a store is open is acknowledged first. Then no call may show a state
// without it: each fails until the loss is known.
STOUT_STORE_TEST("a store that came back without writes answers kLost to every call",
                 STOUT_TEST_LOSING_STORES) {
  Store& store = fixture.store();
  REQUIRE(store.traits().detects_loss);
  REQUIRE(WriteAtLast(store, Batch(1, {Put("k", "v", 1)})) == WriteResult{});
  fixture.LoseData();
  Errc last = Errc::kOk;
  REQUIRE(Eventually([&] {
    const ReadResult read = ReadNow(store, {"k"});
    last = read.errc;
    return last == Errc::kLost || (last == Errc::kOk && !read.states.at(0).found);
  }));
  CHECK(last == Errc::kLost);
  CHECK(NotLost(store) == Calls{});
  CHECK(NotLost(store) == Calls{});
  fixture.Reopen();
  CHECK(NotLost(fixture.store()) == kAllCalls);
  CHECK(WriteAtLast(fixture.store(), Batch(1, {Put("k", "new", 2)})) == WriteResult{});
  CHECK(ReadOne(fixture.store(), "k") == Found("new", {1, 2}));
}

// The control of the test above: nothing else is taken for a loss.
STOUT_STORE_TEST("a store that lost nothing answers no call with kLost", STOUT_TEST_ALL_STORES) {
  CHECK(NotLost(fixture.store()) == kAllCalls);
}

#ifdef STOUT_TEST_KEEPING_STORES
STOUT_STORE_TEST("a store that came back with its data goes on", STOUT_TEST_KEEPING_STORES) {
  Store& store = fixture.store();
  REQUIRE(store.traits().detects_loss);
  REQUIRE(WriteNow(store, Batch(1, {Put("k", "v", 1)})) == WriteResult{});
  fixture.Restart();
  CHECK(WriteAtLast(store, Batch(1, {Put("l", "v", 2)})) == WriteResult{});
  CHECK(Eventually([&] { return ReadNow(store, {"k"}).errc != Errc::kTransient; }));
  CHECK(ReadOne(store, "k") == Found("v", {1, 1}));
  CHECK(NotLost(store) == kAllCalls);
}
#endif

}  // namespace
}  // namespace stout::test
