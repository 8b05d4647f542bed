// The store on a real Redis Cluster: fences, durability, addresses, plain commands.

#include "stout/adapters/redis_cluster_store.h"

#include <chrono>
#include <csignal>
#include <set>

#include "redis_cluster_test_support.h"
#include "stout/adapters/hash_slot.h"
#include "stout/adapters/open_store.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

using namespace std::chrono_literals;

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

TEST_CASE_METHOD(ClusterTest, "redis cluster: an owner of other slots is shut out of all slots") {
  const auto former = Open();
  former->LimitScope("t", {8192, 16383});
  for (int i = 0; i < 2; ++i) {  // the second one in its own slots
    cluster_.ResetStatistics();
    CHECK_FALSE(FenceNow(*former, "t", 5));
    CHECK(cluster_.ScriptsRun() >= (i == 0 ? 16384U : 8192U));
  }
  CHECK(cluster_.ScriptsRun() < 9000);
  const std::string key = '{' + redis::SlotTags()[12000] + '}';
  CHECK(WriteNow(*former, Scoped("t", Batch(5, {Put(key, "v", 1)}))) == WriteResult{});

  const auto newer = Open();  // the keys were divided anew
  newer->LimitScope("t", {0, 4095});
  CHECK_FALSE(FenceNow(*newer, "t", 6));
  CHECK(WriteNow(*former, Scoped("t", Batch(5, {Put(key, "late", 2)}))) ==
        WriteResult{Errc::kFenced, {}});
  CHECK(FenceNow(*former, "t", 5) == Errc::kFenced);
  cluster_.ResetStatistics();
  CHECK_FALSE(FenceNow(*newer, "t", 6));  // in its own slots: the former owner left no note
  CHECK(cluster_.ScriptsRun() < 5000);
  std::set<std::string> keys;  // without the store's own
  for (const ScanResult& page : ScanAll(*newer, {.limit = 1000})) {
    for (const ScannedKey& each : page.keys) keys.insert(each.key);
  }
  CHECK(keys == std::set<std::string>{key});

  const auto whole = Open();  // an owner without a limit
  CHECK_FALSE(FenceNow(*whole, "t", 7));
  CHECK(WriteNow(*whole, Scoped("t", Batch(7, {Put(key, "w", 3)}))) == WriteResult{});
  CHECK_FALSE(FenceNow(*newer, "t", 8));  // in the slots of the last limited owner
  CHECK(WriteNow(*whole, Scoped("t", Batch(7, {Put(key, "late", 4)}))) ==
        WriteResult{Errc::kFenced, {}});
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
    UnusedKeys of_partition(*store, partition);
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
  const std::string key = UnusedKeys(*one, (epochs + 1) % RedisCluster::kMasters).Next();
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

}  // namespace stout::test
