// The store on a real Redis Cluster while slots move and masters are replaced.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <map>
#include <set>

#include "redis_cluster_test_support.h"
#include "stout/adapters/hash_slot.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

}  // namespace

// The slot moves in three steps, each after another page, from a node that the scan has left to one
// that it has not reached, or the other way.
TEST_CASE_METHOD(ClusterTest, "redis cluster: a scan misses no key of a slot that moves") {
  const auto store = Open();
  std::vector<WriteItem> items;
  for (Version i = 1; i <= 300; ++i) items.push_back(Put("k" + std::to_string(i), "v", i));
  for (Version i = 1; i <= 30; ++i) items.push_back(Put("{t}" + std::to_string(i), "v", 300 + i));
  CHECK(WriteNow(*store, Batch(1, items)) == WriteResult{});
  const std::size_t first_page = GENERATE(1, 4, 8, 12, 16, 20, 24);
  CAPTURE(first_page);
  SlotMigration move(cluster_, "{t}1");
  std::size_t pages = 0;
  ScanRequest request{.cursor = {}, .limit = 10};
  std::set<std::string> seen;
  bool ended = false;
  const auto end = [&] {
    if (!std::exchange(ended, true)) move.End();
  };
  do {
    const ScanResult page = ScanNow(*store, request);
    // Nothing is known of a slot on its way: the scan waits for its end.
    if (page.errc == Errc::kTransient) {
      end();
      CHECK(Eventually([&] { return ScanNow(*store, request).errc == Errc::kOk; }));
      continue;
    }
    REQUIRE(page.errc == Errc::kOk);
    for (const ScannedKey& scanned : page.keys) seen.insert(scanned.key);
    request.cursor = page.cursor;
    ++pages;
    if (pages == first_page) {
      move.Begin();
      move.MoveKeys({"{t}1", "{t}2", "{t}3", "{t}4", "{t}5"});
    }
    if (pages >= first_page + 3) end();
  } while (!request.cursor.empty());
  CHECK(seen.size() == items.size());
}

// The order of SCAN at the replica differs from that at its master.
TEST_CASE_METHOD(ClusterTest, "redis cluster: a scan misses no key when a master is replaced") {
  const auto store = Open("wait=1");
  std::vector<WriteItem> items;
  for (Version i = 1; i <= 300; ++i) items.push_back(Put("k" + std::to_string(i), "v", i));
  CHECK(WriteAtLast(*store, Batch(1, items)) == WriteResult{});
  // The key in the lowest slot is at the master that the scan begins with.
  const std::string key = std::min_element(items.begin(), items.end(), [](auto& a, auto& b) {
                            return redis::SlotOf(a.key) < redis::SlotOf(b.key);
                          })->key;
  std::size_t pages = 0;
  std::map<std::string, std::size_t> seen;
  const Pages scanned = ScanAll(*store, {.cursor = {}, .limit = 10}, [&] {
    if (++pages != 5) return;
    RedisServer& master = cluster_.MasterOf(key);
    master.Kill();
    cluster_.AwaitFailoverOf(master, key);
  });
  for (const ScanResult& page : scanned) {
    CHECK(page.errc == Errc::kOk);
    for (const ScannedKey& found : page.keys) ++seen[found.key];
  }
  CHECK(seen.size() == items.size());
  // The first pages' keys came again.
  CHECK(std::any_of(seen.begin(), seen.end(), [](const auto& found) { return found.second > 1; }));
}

TEST_CASE_METHOD(ClusterTest, "redis cluster: a slot that is being moved is followed key by key") {
  const auto store = Open();
  const auto watched = Open("detect_loss=true");
  const auto durable = Open("detect_loss=true&wait=1");
  CHECK(WriteNow(*store, Batch(1, {Put("{t}a", "1", 1), Put("{t}b", "1", 2), Put("x", "1", 3)})) ==
        WriteResult{});
  SlotMigration move(cluster_, "{t}a");
  move.Begin();
  move.MoveKeys({"{t}a"});
  CHECK(store->redirections().asked == 0);
  // One here and one there: these wait, and hold up no others.
  CHECK(WriteNow(*store, Batch(1, {Put("{t}a", "2", 4), Put("x", "2", 5), Put("{t}b", "2", 6)})) ==
        WriteResult{Errc::kOk, {{0, Errc::kTransient}, {2, Errc::kTransient}}});
  // Alone each is found: there, here, and what is new.
  CHECK(WriteNow(*store, Batch(1, {Put("{t}a", "3", 7)})) == WriteResult{});
  CHECK(WriteNow(*store, Batch(1, {Put("{t}b", "3", 8)})) == WriteResult{});
  CHECK(WriteNow(*store, Batch(1, {Put("{t}new", "3", 9)})) == WriteResult{});
  CHECK(ReadNow(*store, {"{t}a", "{t}b", "{t}new", "{t}none", "x"}).states ==
        std::vector{Found("3", {1, 7}), Found("3", {1, 8}), Found("3", {1, 9}), StoredState(),
                    Found("2", {1, 5})});
  const auto asked = store->redirections().asked;
  CHECK(asked > 0);
  CHECK(store->redirections().moved == 0);
  CHECK(ReadOne(*watched, "{t}a") == Found("3", {1, 7}));  // Its old master has it as long.
  CHECK(watched->redirections().asked > 0);
  move.End();
  CHECK(ReadNow(*watched, {"{t}a"}).errc == Errc::kLost);
  CHECK(ReadNow(*watched, {"x"}).errc == Errc::kLost);
  CHECK(ReadOne(*durable, "{t}a") == Found("3", {1, 7}));
  CHECK(durable->redirections().moved == 1);
  CHECK(WriteNow(*store, Batch(1, {Put("{t}a", "4", 10), Put("{t}b", "4", 11)})) == WriteResult{});
  CHECK(store->redirections().moved == 1);
  CHECK(ReadOne(*store, "{t}b") == Found("4", {1, 11}));
  CHECK(store->redirections().moved == 1);  // It has learnt.
  CHECK(store->redirections().asked == asked);
  CHECK(&cluster_.MasterOf("{t}a") == &move.to());
}

TEST_CASE_METHOD(ClusterTest, "redis cluster: a store that is lost ends its connections") {
  const RedisServer& master = cluster_.MasterOf("{t}a");
  const auto clients = [&master] {
    const std::string list = master.Execute({"CLIENT", "LIST", "TYPE", "normal"});
    return std::count(list.begin(), list.end(), '\n');
  };
  const auto before = clients();
  const auto store = Open("detect_loss=true");
  CHECK_FALSE(ReadOne(*store, "{t}a").found);
  CHECK(clients() > before);
  SlotMigration move(cluster_, "{t}a");
  move.Begin();
  move.End();
  CHECK(ReadNow(*store, {"{t}a"}).errc == Errc::kLost);
  CHECK(Eventually([&] { return clients() <= before; }));
}

TEST_CASE_METHOD(ClusterTest,
                 "redis cluster: a fence goes with its slot, and is set while it moves") {
  const auto store = Open();
  CHECK_FALSE(FenceNow(*store, "s", 5));
  SlotMigration move(cluster_, "{f}k");
  move.Begin();
  CHECK_FALSE(FenceNow(*store, "s", 6));
  CHECK_FALSE(FenceNow(*store, "new", 3));  // It is not there yet: ASK.
  CHECK(store->redirections().asked > 0);
  move.End();
  CHECK(WriteNow(*store, Scoped("s", Batch(5, {Put("{f}k", "late", 1)}))) ==
        WriteResult{Errc::kFenced, {}});
  CHECK(WriteNow(*store, Scoped("new", Batch(2, {Put("{f}k", "late", 2)}))) ==
        WriteResult{Errc::kFenced, {}});
  CHECK_FALSE(ReadOne(*store, "{f}k").found);
  CHECK(WriteNow(*store, Scoped("s", Batch(6, {Put("{f}k", "owner", 1)}))) == WriteResult{});
}

TEST_CASE_METHOD(ClusterTest, "redis cluster: a slot that moves under load loses nothing") {
  const auto store = Open();
  int next = 0;
  WriteLoad load(*store, [&next] { return "{moving}" + std::to_string(next++); });
  for (int round = 0; round < 3; ++round) {
    REQUIRE(load.AwaitMore(30));
    SlotMigration move(cluster_, "{moving}");
    move.Begin();
    REQUIRE(load.AwaitMore(30));  // new keys: ASK
    move.End();
    REQUIRE(load.AwaitMore(30));
  }
  load.Stop();
  CHECK(load.CountLost() == 0);
  CHECK(store->redirections().asked >= 3 * 30);
  CHECK(store->redirections().moved >= 3);
}

TEST_CASE_METHOD(
    ClusterTest,
    "redis cluster: a master that is killed under load loses nothing and slows no other") {
  const auto store = Open("wait=1&timeout=3s&connect_timeout=1s&detect_loss=true");
  REQUIRE(store->traits().durable);
  const auto lagging = Open("detect_loss=true");
  const Epoch epoch = NewEpochNow(*store);
  CHECK_FALSE(FenceNow(*store, "s", epoch));

  std::vector<std::unique_ptr<WriteLoad>> loads;
  for (LaneId partition = 0; partition < RedisCluster::kMasters; ++partition) {
    auto keys = std::make_shared<UnusedKeys>(*store, partition);
    loads.push_back(std::make_unique<WriteLoad>(*store, [keys] { return keys->Next(); }));
  }
  for (const auto& load : loads) REQUIRE(load->AwaitMore(20));
  const std::string key = UnusedKeys(*store, 0).Next();
  RedisServer& master = cluster_.MasterOf(key);
  for (const auto& load : loads) load->TakeSlowest();

  master.Kill();
  cluster_.AwaitFailoverOf(master, key);
  for (std::size_t i = 1; i < loads.size(); ++i) {
    CHECK(loads[i]->AwaitMore(1));
    CHECK(loads[i]->TakeSlowest() < std::chrono::milliseconds(RedisCluster::kNodeTimeoutMs));
  }
  cluster_.Heal();  // The new master has a replica again, which it must wait for.
  CHECK(loads[0]->AwaitMore(20));
  CHECK(loads[0]->TakeSlowest() >= std::chrono::milliseconds(RedisCluster::kNodeTimeoutMs));
  for (const auto& load : loads) {
    load->Stop();
    CHECK(load->CountLost() == 0);
  }
  CHECK(&cluster_.MasterOf(key) != &master);
  CHECK(Eventually([&] { return ReadNow(*lagging, {key}).errc == Errc::kLost; }));
  CHECK(NewEpochNow(*store) > epoch);
  CHECK(WriteNow(*store, Scoped("s", Batch(epoch - 1, {Put(key, "late", 1)}))) ==
        WriteResult{Errc::kFenced, {}});
}

// A master may execute the commands that came before it stopped when it wakes, because it does not
// know yet that it has been replaced.
TEST_CASE_METHOD(ClusterTest, "redis cluster: a ghost write to a replaced master changes nothing") {
  const auto store = Open("timeout=60s&connect_timeout=500ms");
  CHECK(WriteAtLast(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  RedisServer& master = cluster_.MasterOf("k");
  master.Execute({"WAIT", "1", "5000"});
  master.Signal(SIGSTOP);
  const auto start = Clock::now();
  CHECK(WriteNow(*store, Batch(1, {Put("k", "ghost", 2)})).batch == Errc::kUnknown);
  CHECK(Clock::now() - start < 30s);  // It has seen that another is master.
  cluster_.AwaitFailoverOf(master, "k");
  CHECK(WriteAtLast(*store, Batch(1, {Put("k", "newer", 3)})) == WriteResult{});
  master.Signal(SIGCONT);
  cluster_.Heal();
  CHECK(ReadOne(*store, "k") == Found("newer", {1, 3}));
}

TEST_CASE_METHOD(ClusterTest,
                 "redis cluster: a store that is destroyed answers what it has not done") {
  auto store = Open("timeout=60s");
  CHECK(WriteNow(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  RedisServer& master = cluster_.MasterOf("k");
  master.Signal(SIGSTOP);
  std::vector<WriteBatch> batches;
  for (int i = 0; i < 20; ++i) batches.push_back(Batch(1, {Put("k", "2", 2)}));
  std::atomic<int> answered{0};
  for (const WriteBatch& batch : batches) {
    // kUnknown if it was sent, kTransient if it was not; done, if another node is master by now.
    store->Write(batch, [&](const WriteResult&) { ++answered; });
  }
  store.reset();
  CHECK(answered == 20);
  master.Signal(SIGCONT);
}

// LeakSanitizer sees what is.
TEST_CASE_METHOD(
    ClusterTest,
    "redis cluster: a node that is asked when the context ends leaves nothing behind") {
  boost::asio::io_context context;
  auto store = OpenOn(context, cluster_.Url("timeout=60s"));
  RedisServer& master = cluster_.MasterOf("k");
  master.Signal(SIGSTOP);
  const WriteBatch batch = Batch(1, {Put("k", "1", 1)});
  bool answered = false;
  store->Write(batch, [&](const WriteResult&) { answered = true; });
  context.run_for(1500ms);  // By then it doubts the map, and asks this one, too.
  store.reset();
  CHECK(answered);
  master.Signal(SIGCONT);
}

}  // namespace stout::test
