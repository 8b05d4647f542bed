// The store on a real Redis Cluster: nodes, slots that move, masters that are replaced.

#include "stout/adapters/redis_cluster_store.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "redis_cluster_fixture.h"
#include "remote_store_fixture.h"
#include "store_test_support.h"
#include "stout/adapters/hash_slot.h"
#include "stout/adapters/open_store.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class ClusterTest {
 public:
  std::unique_ptr<RedisClusterStore> Open(const std::string& options = {}) {
    Diagnostics why;
    auto store = RedisClusterStore::OpenUrl(*ParseStoreUrl(cluster_.Url(options), &why),
                                            pool_.get_executor(), &why);
    INFO(why.message);
    REQUIRE(store);
    return std::unique_ptr<RedisClusterStore>(
        static_cast<RedisClusterStore*>(std::move(*store).release()));
  }

 protected:
  boost::asio::thread_pool pool_{2};
  RedisCluster& cluster_ = EmptyCluster();
};

// Names of keys that a test has not used yet, in a partition.
class Keys {
 public:
  Keys(const Store& store, LaneId partition) : store_(store), partition_(partition) {}
  std::string Next() {
    std::string key;
    do {
      key = "key" + std::to_string(next_++);
    } while (store_.PartitionOf(key) != partition_);
    return key;
  }

 private:
  const Store& store_;
  const LaneId partition_;
  int next_ = 0;
};

// Writes batches one after another, each until it is done, as a lane does; knows what it was told.
class Load {
 public:
  // `make_key`: one that was not written yet.
  Load(Store& store, std::function<std::string()> make_key)
      : store_(store), make_key_(std::move(make_key)), thread_([this] { Run(); }) {}
  ~Load() { Stop(); }
  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

  [[nodiscard]] std::size_t acknowledged() const { return acknowledged_; }
  bool AwaitMore(std::size_t batches) {
    const std::size_t goal = acknowledged_ + batches;
    return Eventually([&] { return acknowledged_ >= goal; });
  }
  // The longest that one took, since the last call.
  std::chrono::milliseconds TakeSlowest() {
    return std::chrono::milliseconds(slowest_ms_.exchange(0));
  }
  // Number of acknowledged writes, once it has stopped.
  [[nodiscard]] std::size_t CountLost() {
    constexpr std::size_t kAtOnce = 500;
    std::size_t lost = 0;
    for (std::size_t begin = 0; begin < told_.size(); begin += kAtOnce) {
      const std::size_t end = std::min(told_.size(), begin + kAtOnce);
      std::vector<std::string> keys;
      for (std::size_t i = begin; i < end; ++i) keys.push_back(told_[i].first);
      const ReadResult read = ReadNow(store_, keys);
      for (std::size_t i = begin; i < end; ++i) {
        if (read.errc != Errc::kOk || read.states.at(i - begin) != told_[i].second) ++lost;
      }
    }
    return lost;
  }

 private:
  void Run() {
    for (Version version = 1; !stop_; ++version) {
      const std::string value = std::to_string(version);
      const WriteBatch batch = Batch(1, {Put(make_key_(), value, version)});
      const auto start = Clock::now();
      const WriteResult result = WriteAtLast(store_, batch);
      const auto took = std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - start).count();
      if (took > slowest_ms_) slowest_ms_ = took;
      if (result != WriteResult{}) break;
      told_.emplace_back(batch.items[0].key, Found(value, {1, version}));
      ++acknowledged_;
    }
  }

  Store& store_;
  const std::function<std::string()> make_key_;
  std::vector<std::pair<std::string, StoredState>> told_;
  std::atomic<std::size_t> acknowledged_{0};
  std::atomic<std::int64_t> slowest_ms_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace

TEST_CASE_METHOD(ClusterTest, "redis cluster: a repeated fence notices a newer owner") {
  const auto former = Open();
  const auto newer = Open();
  const Epoch epoch = NewEpochNow(*former);
  CHECK_FALSE(FenceNow(*former, "s", epoch));
  CHECK_FALSE(FenceNow(*former, "s", epoch));
  CHECK_FALSE(FenceNow(*newer, "s", NewEpochNow(*newer)));
  cluster_.ResetStatistics();
  CHECK(FenceNow(*former, "s", epoch) == Errc::kFenced);
  CHECK(cluster_.ScriptsRun() < 100);
  CHECK(WriteNow(*former, Scoped("s", Batch(epoch, {Put("k", "late", 1)}))) ==
        WriteResult{Errc::kFenced, {}});
}

TEST_CASE_METHOD(ClusterTest, "redis cluster: a repeated fence shuts out again where it was lost") {
  const auto store = Open();
  CHECK_FALSE(FenceNow(*store, "s", 5));
  cluster_.Clear();
  CHECK_FALSE(FenceNow(*store, "s", 5));
  for (const char* key : {"a", "b", "c", "d", "e", "f"}) {
    CHECK(WriteNow(*store, Scoped("s", Batch(4, {Put(key, "late", 1)}))) ==
          WriteResult{Errc::kFenced, {}});
  }
}

TEST_CASE_METHOD(ClusterTest, "redis cluster: a fence is full again after its slot has moved") {
  const auto store = Open();
  CHECK_FALSE(FenceNow(*store, "s", 5));
  cluster_.ResetStatistics();
  CHECK_FALSE(FenceNow(*store, "s", 5));
  const std::size_t cheap = cluster_.ScriptsRun();
  CHECK(cheap >= RedisCluster::kMasters);
  CHECK(cheap < 100);

  SlotMigration move(cluster_, "{g}k");
  move.Begin();
  move.End();
  CHECK(WriteNow(*store, Scoped("s", Batch(5, {Put("{g}k", "v", 1)}))) == WriteResult{});
  CHECK(store->redirections().moved == 1);
  cluster_.ResetStatistics();
  CHECK_FALSE(FenceNow(*store, "s", 5));
  CHECK(cluster_.ScriptsRun() >= 16384);
}

TEST_CASE_METHOD(ClusterTest,
                 "redis cluster: each master is a partition, and a batch reaches all") {
  const auto store = Open();
  CHECK(store->traits().partitions == RedisCluster::kMasters);
  CHECK(store->PartitionOf("{user1}a") == store->PartitionOf("{user1}b"));
  std::vector<WriteItem> items;
  std::vector<std::string> keys;
  for (LaneId partition = 0; partition < RedisCluster::kMasters; ++partition) {
    Keys of_partition(*store, partition);
    const std::string key = of_partition.Next();
    items.push_back(Put(key, "v", partition + 1));
    keys.push_back(key);
  }
  CHECK(WriteNow(*store, Batch(1, items)) == WriteResult{});
  CHECK(ReadNow(*store, keys).states ==
        std::vector{Found("v", {1, 1}), Found("v", {1, 2}), Found("v", {1, 3})});
  std::set<RedisServer*> masters;
  for (const std::string& key : keys) masters.insert(&cluster_.MasterOf(key));
  CHECK(masters.size() == RedisCluster::kMasters);
  CHECK(store->redirections().moved == 0);
}

TEST_CASE_METHOD(ClusterTest, "redis cluster: durable only where no failover can lose a write") {
  CHECK(Open("wait=1")->traits().durable);
  CHECK_FALSE(Open()->traits().durable);
  // With WAITAOF, each batch waits for the disks.
  const bool waits_for_disks =
      cluster_.node(0).Execute({"COMMAND", "INFO", "WAITAOF"}).find("waitaof") != std::string::npos;
  // A replica counts, too: it may be the next master.
  for (const std::size_t node : {std::size_t{0}, RedisCluster::kNodes - 1}) {
    cluster_.node(node).Execute({"CONFIG", "SET", "appendfsync", "everysec"});
    // Now and then a node does not know of a replica that had to wait for a processor.
    CHECK(Eventually([&] { return Open("wait=1")->traits().durable == waits_for_disks; }));
    cluster_.node(node).Execute({"CONFIG", "SET", "appendfsync", "always"});
  }
}

// Since Redis 7.2 WAIT goes by what its own connection wrote last, so a repetition writes again.
TEST_CASE_METHOD(ClusterTest,
                 "redis cluster: what no replica has is not acknowledged, however often") {
  const auto one = Open("wait=1&wait_timeout=100ms");
  const auto two = Open("wait=1&wait_timeout=100ms");
  CHECK(WriteAtLast(*one, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  CHECK(WriteAtLast(*two, Batch(1, {Put("k", "2", 2)})) == WriteResult{});
  RedisServer& replica = cluster_.ReplicaOf(cluster_.MasterOf("k"));
  replica.Signal(SIGSTOP);
  const WriteBatch batch = Batch(1, {Put("k", "4", 4)});
  const WriteBatch overtaken = Batch(1, {Put("k", "3", 3)});
  const WriteBatch deleted = Batch(1, {Delete("k", 5)});
  CHECK(WriteNow(*one, batch).batch == Errc::kUnknown);
  CHECK(WriteNow(*two, batch).batch == Errc::kUnknown);
  CHECK(WriteNow(*two, overtaken).batch == Errc::kUnknown);
  CHECK(WriteNow(*two, deleted).batch == Errc::kUnknown);
  CHECK(WriteNow(*one, deleted).batch == Errc::kUnknown);
  CHECK(FenceNow(*one, "s", 1) == Errc::kTransient);
  CHECK(FenceNow(*two, "s", 1) == Errc::kTransient);
  replica.Signal(SIGCONT);
  CHECK(WriteAtLast(*two, deleted) == WriteResult{});
  CHECK(ReadOne(*one, "k") == StoredState{.found = false, .value = "", .stamp = {1, 5}});
}

TEST_CASE_METHOD(ClusterTest,
                 "redis cluster: an epoch that no replica has is not noted, however often") {
  const auto one = Open("wait=1&wait_timeout=100ms");
  const auto two = Open("wait=1&wait_timeout=100ms");
  const LaneId epochs = one->PartitionOf("stout:epoch");
  const std::string key = Keys(*one, (epochs + 1) % RedisCluster::kMasters).Next();
  CHECK(WriteAtLast(*one, Batch(1, {Put(key, "v", 1)})) == WriteResult{});
  CHECK(WriteAtLast(*two, Batch(1, {Put(key, "v", 2)})) == WriteResult{});
  RedisServer& replica = cluster_.ReplicaOf(cluster_.MasterOf("stout:epoch"));
  replica.Signal(SIGSTOP);
  const WriteBatch batch = Batch(7, {Put(key, "v", 3)});
  CHECK(WriteNow(*one, batch).batch == Errc::kTransient);
  CHECK(WriteNow(*two, batch).batch == Errc::kTransient);
  replica.Signal(SIGCONT);
  CHECK(WriteAtLast(*two, batch) == WriteResult{});
}

TEST_CASE_METHOD(ClusterTest, "redis cluster: addresses that lead nowhere") {
  const auto executor = pool_.get_executor();
  Diagnostics why;
  auto store = OpenStore("redis-cluster://127.0.0.1:1", executor, &why);
  CHECK(store.error() == Errc::kTransient);
  CHECK(why.message.find("127.0.0.1:1") != std::string::npos);
  const RedisServer alone;
  store = OpenStore("redis-cluster://127.0.0.1:" + std::to_string(alone.port()), executor, &why);
  CHECK(store.error() == Errc::kBadUrl);
  CHECK(why.message.find("not a node of a cluster") != std::string::npos);
  for (const char* bad : {"redis-cluster://", "redis-cluster://h:1/1", "redis-cluster://h:1?x=1"}) {
    CAPTURE(bad);
    CHECK(OpenStore(bad, executor, &why).error() == Errc::kBadUrl);
  }
  // One that is away is no harm while another answers.
  const std::string url = cluster_.Url();
  store =
      OpenStore("redis-cluster://127.0.0.1:1," + url.substr(url.find("//") + 2), executor, &why);
  CHECK(store);
  // Nor one that has just been started, or was thrown out, and serves nothing.
  const std::unique_ptr<RedisServer> empty = RedisCluster::StartNode();
  const std::string at_empty = "redis-cluster://127.0.0.1:" + std::to_string(empty->port());
  CHECK(OpenStore(at_empty, executor, &why).error() == Errc::kTransient);
  CHECK(why.message.find("no node serves 16384 of 16384 slots") != std::string::npos);
  CHECK(OpenStore(at_empty + "," + url.substr(url.find("//") + 2), executor, &why));
}

TEST_CASE_METHOD(ClusterTest,
                 "redis cluster: plain values, puts and deletes of one slot in a batch") {
  const auto store = Open("mode=plain&prefix=app:");
  CHECK(WriteNow(*store, Batch(1, {Put("{s}a", "1", 1), Put("{s}b", "2", 2), Put("c", "3", 3)})) ==
        WriteResult{});
  CHECK(WriteNow(*store, Batch(1, {Delete("{s}a", 4), Put("{s}b", "4", 5)})) == WriteResult{});
  CHECK(cluster_.MasterOf("app:{s}b").Execute({"GET", "app:{s}b"}) == "4");
  CHECK(ReadNow(*store, {"{s}a", "{s}b", "c"}).states ==
        std::vector{StoredState{}, Found("4", {}), Found("3", {})});
  CHECK(FenceNow(*store, "s", 1) == Errc::kRefused);
}

TEST_CASE_METHOD(ClusterTest, "redis cluster: plain deletes of many slots, and of one that moved") {
  const auto store = Open("mode=plain");
  const std::vector<std::string> keys = {"a", "b", "c", "d", "e", "f"};
  std::vector<WriteItem> puts, deletes;
  for (const std::string& key : keys) {
    puts.push_back(Put(key, "v", 1));
    deletes.push_back(Delete(key, 2));
  }
  CHECK(WriteNow(*store, Batch(1, puts)) == WriteResult{});
  CHECK(WriteNow(*store, Batch(1, deletes)) == WriteResult{});
  CHECK(ReadNow(*store, keys).states == std::vector<StoredState>(keys.size()));

  CHECK(WriteNow(*store, Batch(1, {Put("a", "v", 3)})) == WriteResult{});
  SlotMigration move(cluster_, "a");
  move.Begin();
  move.MoveKeys({"a"});
  move.End();
  CHECK(WriteNow(*store, Batch(1, {Delete("a", 4)})) == WriteResult{});
  CHECK(store->redirections().moved == 1);
  CHECK(cluster_.MasterOf("a").Execute({"EXISTS", "a"}) == "0");
}

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
  Load load(*store, [&next] { return "{moving}" + std::to_string(next++); });
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

  std::vector<std::unique_ptr<Load>> loads;
  for (LaneId partition = 0; partition < RedisCluster::kMasters; ++partition) {
    auto keys = std::make_shared<Keys>(*store, partition);
    loads.push_back(std::make_unique<Load>(*store, [keys] { return keys->Next(); }));
  }
  for (const auto& load : loads) REQUIRE(load->AwaitMore(20));
  const std::string key = Keys(*store, 0).Next();
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
