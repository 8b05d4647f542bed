// Which changes of a Redis count as a loss, on real servers. store_loss_test.cc has what follows.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "adapters/redis/src/incarnation.h"
#include "adapters/redis/src/loss_watch.h"
#include "remote_store_fixture.h"
#include "store_test_support.h"
#include "tests/support/catch.h"
#include "tests/support/redis_server.h"

namespace stout::test {
namespace {

using Catch::Contains;

// A server that loses everything when it ends.
class RedisLossTest : public RemoteStoreFixture<RedisServer> {
 protected:
  RedisLossTest() { StartServer({"--appendonly", "no"}); }
  RedisServer& StartServer(std::vector<std::string> settings) {
    settings.insert(settings.end(), {"--repl-diskless-sync-delay", "0"});
    server_ = std::make_unique<RedisServer>(std::move(settings));
    return *server_;
  }
  void Restart() {
    server().Kill();
    server().Start();
  }
  // Waits until the server sends its data to a replica.
  void AwaitReplica() {
    REQUIRE(Eventually([&] {
      return server().Execute({"INFO", "replication"}).find("state=online") != std::string::npos;
    }));
  }
  // The server takes over the data of `other`.
  void Follow(const RedisServer& other) {
    server().Execute({"REPLICAOF", "127.0.0.1", std::to_string(other.port())});
    REQUIRE(Eventually([&] {
      return server().Execute({"INFO", "replication"}).find("master_link_status:up") !=
             std::string::npos;
    }));
  }
  static bool IsLost(Store& store) {
    return Eventually([&] { return ReadNow(store, {"k"}).errc == Errc::kLost; });
  }
  // Returns true if the store is read.
  static bool GoesOn(Store& store) {
    Errc errc = Errc::kTransient;
    (void)Eventually([&] {
      errc = ReadNow(store, {"k"}).errc;
      return errc != Errc::kTransient;
    });
    return errc == Errc::kOk;
  }
};

}  // namespace

TEST_CASE("redis: an incarnation ends with its process, or when it was a replica", "[redis]") {
  const auto incarnation = [](const std::string& run_id, const std::string& replid2) {
    const auto text = [](std::string info) {
      return resp::Reply{.kind = resp::Reply::Kind::kString, .text = std::move(info)};
    };
    return redis::IncarnationOf(
        text("# Server\r\nredis_version:7.0.15\r\nrun_id:" + run_id + "\r\ntcp_port:1\r\n"),
        text("# Replication\r\nrole:master\r\nmaster_replid:0a\r\nmaster_replid2:" + replid2 +
             "\r\n"));
  };
  const redis::Incarnation first = incarnation("abc", "000");
  CHECK(first == redis::Incarnation{"abc", "000"});
  CHECK_FALSE(MayHaveLost(first, first));
  CHECK(MayHaveLost(first, incarnation("abd", "000")));
  CHECK(MayHaveLost(first, incarnation("abc", "0f0")));
  const redis::Incarnation promoted = incarnation("abc", "0f0");
  CHECK_FALSE(MayHaveLost(promoted, promoted));
  // It has had no replica for an hour.
  CHECK_FALSE(MayHaveLost(promoted, first));
  CHECK(MayHaveLost(promoted, incarnation("abc", "0e0")));
  // StoreTraits::incarnation.
  const RedisAddress address{.host = "h"};
  CHECK(redis::IncarnationOf({{address, first}}) == "abc");
  CHECK(redis::IncarnationOf({{address, promoted}}) == "abc/0f0");
  const std::string cluster = redis::IncarnationOf({{address, promoted}, {address, first}});
  CHECK(cluster == redis::IncarnationOf({{address, first}, {address, promoted}}));
  CHECK(cluster.size() == 16);
}

TEST_CASE_METHOD(RedisLossTest, "redis: without detect_loss a server that lost all is just away") {
  const auto store = Open();
  CHECK_FALSE(store->traits().detects_loss);
  CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 1)})) == WriteResult{});
  Restart();
  CHECK(WriteAtLast(*store, Batch(1, {Put("l", "v", 2)})) == WriteResult{});
  CHECK_FALSE(ReadOne(*store, "k").found);
}

// A later owner must not get this epoch again.
TEST_CASE_METHOD(RedisLossTest,
                 "redis: a server that lost all is told the epoch of the next write") {
  const auto store = Open();
  const Epoch epoch = NewEpochNow(*store);
  REQUIRE(WriteNow(*store, Batch(epoch, {Put("k", "v", 1)})) == WriteResult{});
  Restart();
  CHECK(WriteAtLast(*store, Batch(epoch, {Put("k", "v", 2)})) == WriteResult{});
  CHECK(NewEpochNow(*Open()) > epoch);
}

TEST_CASE_METHOD(RedisLossTest, "redis: the incarnation of a server that is not durable") {
  const std::string first = Open("detect_loss=true")->traits().incarnation;
  CHECK_FALSE(first.empty());
  CHECK(Open("detect_loss=true")->traits().incarnation == first);
  CHECK(Open("")->traits().incarnation.empty());
  Restart();
  CHECK(Open("detect_loss=true")->traits().incarnation != first);
  StartServer({});
  CHECK(Open("detect_loss=true")->traits().incarnation.empty());  // it is durable
}

TEST_CASE_METHOD(RedisLossTest, "redis: a plain store is lost like any other") {
  const auto store = Open("mode=plain&detect_loss=true");
  CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 1)})) == WriteResult{});
  Restart();
  CHECK(IsLost(*store));
  CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 2)})) == WriteResult{Errc::kLost, {}});
}

// Nothing is sent to the new process, so that whoever opens the store anew finds it as it came.
TEST_CASE_METHOD(RedisLossTest, "redis: a write that finds another process is not done there") {
  const auto store = Open("detect_loss=true");
  CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 1)})) == WriteResult{});
  Restart();
  CHECK(WriteAtLast(*store, Batch(1, {Put("k", "v", 2)})) == WriteResult{Errc::kLost, {}});
  CHECK(server().Execute({"DBSIZE"}) == "0");
}

// The process and its connections go on, but its data are another server's.
TEST_CASE_METHOD(RedisLossTest, "redis: a server that was a replica meanwhile is lost") {
  const auto store = Open("detect_loss=true");
  CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 1)})) == WriteResult{});
  const RedisServer other({"--repl-diskless-sync-delay", "0"});
  Follow(other);
  server().Execute({"REPLICAOF", "NO", "ONE"});
  CHECK(IsLost(*store));
}

TEST_CASE_METHOD(RedisLossTest, "redis: a master that gets and loses a replica is not lost") {
  const auto store = Open("detect_loss=true");
  CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 1)})) == WriteResult{});
  {
    const RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(server().port())});
    REQUIRE(Eventually([&] { return replica.Execute({"EXISTS", "k"}) == "1"; }));
    server().Execute({"CLIENT", "KILL", "TYPE", "normal"});  // it is asked again
    CHECK(GoesOn(*store));
  }
  server().Execute({"CLIENT", "KILL", "TYPE", "normal"});
  CHECK(GoesOn(*store));
}

// Another process may be one of them, under the name of their master.
TEST_CASE_METHOD(RedisLossTest, "redis: a durable server is lost unless its replicas confirm") {
  StartServer({});
  const RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(server().port())});
  AwaitReplica();
  const auto unconfirmed = Open("detect_loss=true");
  const auto confirmed = Open("detect_loss=true&wait=1");
  CHECK(unconfirmed->traits().durable);
  Restart();
  CHECK(IsLost(*unconfirmed));
  CHECK(GoesOn(*confirmed));
}

TEST_CASE_METHOD(
    RedisLossTest,
    "redis: a durable server is lost once it has had a replica that need not confirm") {
  StartServer({});
  const auto unconfirmed = Open("detect_loss=true");
  const auto confirmed = Open("detect_loss=true&wait=1");
  Restart();
  CHECK(GoesOn(*unconfirmed));
  CHECK(GoesOn(*confirmed));
  const RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(server().port())});
  AwaitReplica();
  server().Execute({"CLIENT", "KILL", "TYPE", "normal"});  // it is asked again
  CHECK(GoesOn(*unconfirmed));
  CHECK(GoesOn(*confirmed));
  Restart();
  CHECK(IsLost(*unconfirmed));
  CHECK(GoesOn(*confirmed));
}

TEST_CASE_METHOD(RedisLossTest, "redis: no loss is detected where one could go unnoticed") {
  server().Execute({"CONFIG", "SET", "maxmemory", "100mb"});
  server().Execute({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  CHECK_THAT(WhyNot(server().Url("detect_loss=true")), Contains("noeviction"));
  server().Execute({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  server().Execute({"ACL", "SETUSER", "app", "on", ">word", "~*", "+@all", "-info"});
  const std::string user = "redis://app:word@127.0.0.1:" + std::to_string(server().port());
  CHECK(OpenUrl(user) != nullptr);
  CHECK_THAT(WhyNot(user + "?detect_loss=true"), Contains("INFO") && Contains("NOPERM"));
}

}  // namespace stout::test
