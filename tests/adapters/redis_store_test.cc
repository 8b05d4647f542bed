// The store on one Redis: its address and set-up, errors of the server. remote_store_test.cc tests
// servers and networks that fail.

#include "stout/adapters/redis_store.h"

#include <algorithm>
#include <filesystem>
#include <future>
#include <map>
#include <stdexcept>

#include "remote_store_fixture.h"
#include "tests/network/tcp_proxy.h"
#include "tests/support/catch.h"
#include "tests/support/redis_server.h"

namespace stout::test {
namespace {

using Catch::Contains;

class RedisTest : public RemoteStoreFixture<RedisServer> {
 protected:
  // Another than the usual, before the first use.
  RedisServer& StartServer(std::vector<std::string> settings) {
    server_ = std::make_unique<RedisServer>(std::move(settings));
    return *server_;
  }
  [[nodiscard]] std::string At(const std::string& user, const std::string& rest = {}) {
    return "redis://" + user + "@127.0.0.1:" + std::to_string(server().port()) + rest;
  }

  int ScriptsRun() {
    const std::string stats = server().Execute({"INFO", "commandstats"});
    const std::string name = "cmdstat_evalsha:calls=";
    return std::stoi(stats.substr(stats.find(name) + name.size()));
  }
};

}  // namespace

TEST_CASE_METHOD(RedisTest, "redis: users, passwords, databases and sockets") {
  StartServer({"--requirepass", "s3cret:/@"});
  // The rights that docs/STORES.md requires, and no more.
  server().Execute({"-a",    "s3cret:/@", "ACL",        "SETUSER",      "app",   "on",
                    ">word", "~app:*",    "+evalsha",   "+script|load", "+mget", "+mset",
                    "+get",  "+set",      "+getrange",  "+del",         "+incr", "+multi",
                    "+exec", "+info",     "+config|get"});
  CHECK_THAT(WhyNot(server().Url()), Contains("NOAUTH"));
  CHECK_THAT(WhyNot(At(":wrong")), Contains("WRONGPASS"));
  CHECK_THAT(WhyNot(At("app:wrong")), Contains("WRONGPASS"));
  CHECK_THAT(WhyNot(At(":s3cret%3A%2F%40", "/99")), Contains("out of range"));
  const auto zero = OpenUrl(At(":s3cret%3A%2F%40"));
  const auto three = OpenUrl(At("default:s3cret%3A%2F%40", "/3"));
  CHECK(WriteNow(*three, Batch(1, {Put("k", "three", 1)})) == WriteResult{});
  CHECK_FALSE(ReadOne(*zero, "k").found);
  CHECK(server().Execute({"-a", "s3cret:/@", "-n", "3", "EXISTS", "k"}) == "1");
  // A user who may touch some keys only.
  const auto app = OpenUrl(At("app:word", "/0?prefix=app%3A"));
  CHECK(WriteNow(*app, Batch(1, {Put("k", "mine", 1)})) == WriteResult{});
  CHECK(ReadOne(*app, "k") == Found("mine", {1, 1}));
  CHECK(WriteNow(*app, Batch(1, {Delete("k", 2), Put("l", "mine", 3)})) == WriteResult{});
  CHECK(ReadOne(*zero, "app:l") == Found("mine", {1, 3}));
  CHECK_FALSE(FenceNow(*app, "s", NewEpochNow(*app)));
  const auto plain = OpenUrl(At("app:word", "/0?mode=plain&prefix=app%3A"));
  CHECK(WriteNow(*plain, Batch(1, {Delete("l", 4), Put("k", "bare", 5)})) == WriteResult{});
  const auto stranger = OpenUrl(At("app:word"));
  CHECK(WriteNow(*stranger, Batch(1, {Put("k", "not mine", 1)})).batch == Errc::kTransient);
  CHECK(ReadNow(*stranger, {"k"}).errc == Errc::kTransient);
  // By the socket, which has no host.
  const auto local = OpenUrl("redis://:s3cret%3A%2F%40@/3?socket=" + server().Socket());
  CHECK(ReadOne(*local, "k") == Found("three", {1, 1}));
}

TEST_CASE_METHOD(RedisTest, "redis: who may not run scripts is told at the start") {
  server().Execute({"ACL", "SETUSER", "app", "on", ">word", "~*", "+@all", "-@scripting"});
  CHECK_THAT(WhyNot(At("app:word")), Contains("NOPERM") && Contains("script"));
}

TEST_CASE_METHOD(RedisTest, "redis: addresses that lead nowhere") {
  CHECK_THAT(WhyNot("redis://127.0.0.1:1", Errc::kTransient), Contains("Connection refused"));
  CHECK_THAT(WhyNot("redis:///?socket=/nowhere/redis.sock", Errc::kTransient),
             Contains("No such file"));
  CHECK_THAT(WhyNot("redis:///?socket=/" + std::string(107, 's')), Contains("socket is too long"));
  CHECK_THAT(WhyNot("redis://no-such-host.invalid", Errc::kTransient),
             Contains("no-such-host.invalid"));
  for (const char* url : {"redis://", "redis://h/x", "redis://h,i", "redis://h/1/2", "redis://u@h",
                          "redis://h?socket=/s", "redis://h:99999", "redis://h/-1"}) {
    CAPTURE(url);
    CHECK_THAT(WhyNot(url), Contains("syntax"));
  }
  CHECK_THAT(WhyNot("rediss://h"), Contains("TLS is not supported"));
  CHECK_THAT(WhyNot("redis://h?mode=plane"), Contains("versioned or plain"));
  CHECK_THAT(WhyNot("redis://h?wait=1&wait_timeout=10s"), Contains("below timeout"));
  CHECK_THAT(WhyNot("redis://h?conections=1"), Contains("'conections'"));
}

TEST_CASE_METHOD(RedisTest, "redis: a server that is not durable is said to be none") {
  CHECK(Open()->traits().durable);
  server().Execute({"CONFIG", "SET", "appendfsync", "everysec"});
  CHECK_FALSE(Open()->traits().durable);
  server().Execute({"CONFIG", "SET", "appendfsync", "always"});
  server().Execute({"CONFIG", "SET", "no-appendfsync-on-rewrite", "yes"});
  CHECK_FALSE(Open()->traits().durable);
  server().Execute({"CONFIG", "SET", "no-appendfsync-on-rewrite", "no"});
  server().Execute({"CONFIG", "SET", "maxmemory", "100mb"});
  CHECK(Open()->traits().durable);
  server().Execute({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  CHECK_FALSE(Open()->traits().durable);
  server().Execute({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  server().Execute({"CONFIG", "SET", "appendonly", "no"});
  CHECK_FALSE(Open()->traits().durable);
}

TEST_CASE_METHOD(RedisTest, "redis: a server that evicts tombstones keeps none for certain") {
  server().Execute({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
  CHECK(Open()->traits().tombstone_ttl == std::chrono::hours(1));  // its memory has no limit
  server().Execute({"CONFIG", "SET", "maxmemory", "100mb"});
  CHECK(Open()->traits().tombstone_ttl == Duration::zero());
  server().Execute({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  CHECK(Open()->traits().tombstone_ttl == std::chrono::hours(1));
}

TEST_CASE_METHOD(RedisTest, "redis: settings that may not be asked for are taken for the worst") {
  server().Execute({"ACL", "SETUSER", "app", "on", ">word", "~*", "+@all", "-config"});
  CHECK_FALSE(OpenUrl(At("app:word"))->traits().durable);
}

TEST_CASE_METHOD(RedisTest, "redis: no batch is larger than an argument that the server takes") {
  CHECK(Open()->traits().max_batch_bytes == std::size_t{64} << 20);
  server().Execute({"CONFIG", "SET", "proto-max-bulk-len", "1mb"});
  const auto store = Open();
  const std::size_t most = store->traits().max_batch_bytes;
  CHECK(most == (std::size_t{1} << 20) - 18);  // the state has its stamp before it
  CHECK(WriteNow(*store, Batch(1, {Put("", std::string(most + 1, 'x'), 1)})).batch ==
        Errc::kTooLarge);
  CHECK(WriteNow(*store, Batch(1, {Put("", std::string(most, 'x'), 1)})) == WriteResult{});
}

TEST_CASE_METHOD(RedisTest, "redis: a batch of 60 MiB", "[not_tsan]") {
  const auto store = Open();
  std::vector<WriteItem> items;
  std::vector<std::string> keys;
  for (int i = 0; i < 60; ++i) {
    keys.push_back("k" + std::to_string(i));
    items.push_back(
        Put(keys.back(), std::string(std::size_t{1} << 20, static_cast<char>('0' + i)), 1));
  }
  CHECK(WriteNow(*store, Batch(1, items)) == WriteResult{});
  const ReadResult read = ReadNow(*store, keys);
  REQUIRE(read.states.size() == keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    CHECK((read.states[i] == Found(items[i].value, {1, 1})));  // too long to print
  }
}

TEST_CASE_METHOD(RedisTest, "redis: an epoch that the store was given needs no note") {
  const auto store = Open();
  CHECK(WriteNow(*store, Batch(NewEpochNow(*store), {Put("k", "v", 1)})) == WriteResult{});
  CHECK(ScriptsRun() == 1);
}

TEST_CASE_METHOD(RedisTest, "redis: epochs beyond 53 bits are compared whole") {
  const auto store = Open();
  constexpr Epoch kLarge = (Epoch{1} << 62) + 1;
  constexpr Version kNewest = ~Version{0};
  CHECK(WriteNow(*store, Batch(kLarge, {Put("k", "v", kNewest - 1)})) == WriteResult{});
  CHECK(WriteNow(*store, Batch(kLarge, {Put("k", "older", kNewest - 2)})) == WriteResult{});
  CHECK(ReadOne(*store, "k") == Found("v", {kLarge, kNewest - 1}));
  CHECK(WriteNow(*store, Batch(kLarge, {Put("k", "newer", kNewest)})) == WriteResult{});
  CHECK(ReadOne(*store, "k") == Found("newer", {kLarge, kNewest}));
  const WriteResult fenced = {Errc::kOk, {{0, Errc::kFenced}}};
  CHECK(WriteNow(*store, Batch(kLarge - 1, {Put("k", "fenced", kNewest)})) == fenced);
  CHECK(NewEpochNow(*store) == kLarge + 1);
  CHECK_FALSE(FenceNow(*store, "s", kLarge));
  CHECK(FenceNow(*store, "s", kLarge - 1) == Errc::kFenced);
  CHECK(WriteNow(*store, Batch(Epoch{1} << 63, {Put("k", "v", 1)})).batch == Errc::kRefused);
}

TEST_CASE_METHOD(RedisTest, "redis: tombstones are gone when their time is over") {
  const auto store = Open("tombstone_ttl=200ms");
  CHECK(WriteNow(*store, Batch(1, {Put("stays", "v", 1), Delete("goes", 2)})) == WriteResult{});
  CHECK(Eventually([&] { return ReadOne(*store, "goes") == StoredState{}; }));
  CHECK(ReadOne(*store, "stays") == Found("v", {1, 1}));
  CHECK(server().Execute({"EXISTS", "goes"}) == "0");
  // None at all, where nothing can be late.
  const auto careless = Open("tombstone_ttl=0s");
  CHECK(WriteNow(*careless, Batch(1, {Delete("stays", 3)})) == WriteResult{});
  CHECK(server().Execute({"EXISTS", "stays"}) == "0");
}

TEST_CASE_METHOD(RedisTest, "redis: a key that was deleted and is written again stays") {
  const auto store = Open("tombstone_ttl=300ms");
  CHECK(WriteNow(*store, Batch(1, {Delete("k", 1)})) == WriteResult{});
  CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 2)})) == WriteResult{});
  CHECK(server().Execute({"PTTL", "k"}) == "-1");
}

TEST_CASE_METHOD(RedisTest, "redis: scripts that the server has lost are given to it again") {
  const auto store = Open();
  CHECK(WriteNow(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  server().Execute({"SCRIPT", "FLUSH"});
  CHECK(WriteNow(*store, Batch(2, {Put("k", "2", 1)})) == WriteResult{});
  CHECK(ReadOne(*store, "k") == Found("2", {2, 1}));
  CHECK(NewEpochNow(*store) == 3);
  server().Execute({"SCRIPT", "FLUSH"});
  CHECK_FALSE(FenceNow(*store, "s", 5));
}

TEST_CASE_METHOD(RedisTest,
                 "redis: what the server answers with an error is not done, and tried again") {
  const auto mode = GENERATE(as<std::string>(), "mode=versioned", "mode=plain");
  CAPTURE(mode);
  const auto store = Open(mode);
  CHECK(WriteNow(*store, Batch(1, {Put("k", "1", 1), Put("l", "1", 2)})) == WriteResult{});
  const WriteBatch batch = Batch(1, {Put("k", "2", 3), Delete("l", 4), Put("m", "2", 5)});
  const auto untouched = [&] {
    return ReadNow(*store, {"k", "l", "m"}).states ==
           std::vector{Found(*store, "1", {1, 1}), Found(*store, "1", {1, 2}), StoredState()};
  };
  SECTION("OOM: its memory is full") {
    server().Execute({"CONFIG", "SET", "maxmemory", "1"});
    CHECK(WriteNow(*store, batch).batch == Errc::kTransient);
    CHECK(untouched());
    server().Execute({"CONFIG", "SET", "maxmemory", "0"});
  }
  SECTION("READONLY: it has become a replica") {
    server().Execute({"REPLICAOF", "127.0.0.1", "1"});
    CHECK(WriteNow(*store, batch).batch == Errc::kTransient);
    // It would answer, and may lag.
    CHECK(ReadNow(*store, {"k"}).errc == Errc::kTransient);
    CHECK_THAT(WhyNot(server().Url(), Errc::kTransient), Contains("replica"));
    server().Execute({"REPLICAOF", "NO", "ONE"});
    CHECK(Eventually([&] { return untouched(); }));
  }
  SECTION("NOREPLICAS: it has fewer than it must") {
    server().Execute({"CONFIG", "SET", "min-replicas-to-write", "1"});
    CHECK(WriteNow(*store, batch).batch == Errc::kTransient);
    CHECK(untouched());
    server().Execute({"CONFIG", "SET", "min-replicas-to-write", "0"});
  }
  CHECK(WriteAtLast(*store, batch) == WriteResult{});
  CHECK(ReadOne(*store, "k") == Found(*store, "2", {1, 3}));
  CHECK_FALSE(ReadOne(*store, "l").found);
}

// A server that cannot save answers MISCONF to every write, before it says that it is a replica.
TEST_CASE_METHOD(RedisTest, "redis: a master that cannot save is read, a replica is not") {
  StartServer({"--save", "3600 1"});
  const auto store = Open();
  CHECK(WriteNow(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  const auto directory = std::filesystem::path(server().Socket()).parent_path();
  std::filesystem::create_directory(directory / "dump.rdb");  // where its file is to be
  server().Execute({"BGSAVE"});
  const WriteBatch batch = Batch(1, {Put("k", "2", 2)});
  REQUIRE(Eventually([&] {
    return server().Execute({"INFO", "persistence"}).find("bgsave_status:err") != std::string::npos;
  }));
  CHECK(WriteNow(*store, batch).batch == Errc::kTransient);
  CHECK(ReadOne(*store, "k") == Found("1", {1, 1}));
  server().Execute({"REPLICAOF", "127.0.0.1", "1"});
  CHECK(ReadNow(*store, {"k"}).errc == Errc::kTransient);
}

TEST_CASE_METHOD(RedisTest, "redis: a read is nothing that the server has to keep") {
  const auto store = Open();
  CHECK(WriteNow(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  const auto kept = [&] {
    const std::string info = server().Execute({"INFO", "persistence"});
    const auto field = [&](const std::string& name) {
      const std::size_t at = info.find(name);
      REQUIRE(at != std::string::npos);
      return info.substr(at, info.find('\r', at) - at);
    };
    return field("aof_current_size:") + field("rdb_changes_since_last_save:");
  };
  const std::string before = kept();
  for (int i = 0; i < 10; ++i) CHECK(ReadOne(*store, "k").found);
  CHECK(kept() == before);
}

TEST_CASE_METHOD(RedisTest, "redis: BUSY: a script that runs for long") {
  const auto store = Open();
  server().Execute({"CONFIG", "SET", "busy-reply-threshold", "10"});
  auto hog = std::async(std::launch::async, [&] {
    try {
      server().Execute({"EVAL", "while true do end", "0"});
      return false;
    } catch (const std::runtime_error&) {  // It was killed.
      return true;
    }
  });
  const WriteBatch batch = Batch(1, {Put("k", "v", 1)});
  CHECK(Eventually([&] { return WriteNow(*store, batch).batch == Errc::kTransient; }));
  CHECK_THAT(WhyNot(server().Url(), Errc::kTransient), Contains("BUSY"));
  server().Execute({"SCRIPT", "KILL"});
  CHECK(hog.get());
  CHECK(WriteAtLast(*store, batch) == WriteResult{});
}

TEST_CASE_METHOD(RedisTest, "redis: a batch that too few replicas have is not known to be safe") {
  StartServer({"--repl-diskless-sync-delay", "0"});
  const auto store = Open("wait=1&wait_timeout=50ms");
  CHECK(store->traits().durable);  // by itself
  const WriteBatch batch = Batch(1, {Put("k", "v", 1)});
  CHECK(WriteNow(*store, batch).batch == Errc::kUnknown);
  CHECK(NewEpochNow(*store) == 0);  // none
  CHECK(FenceNow(*store, "s", 9) == Errc::kTransient);
  const RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(server().port())});
  CHECK(WriteAtLast(*store, batch) == WriteResult{});
  CHECK(ReadOne(*store, "k") == Found("v", {1, 1}));
  CHECK(replica.Execute({"EXISTS", "k"}) == "1");
  CHECK(Eventually([&] { return NewEpochNow(*store) > 9; }));
}

// WAITAOF alone takes a second each, because a replica reports its disk once a second.
TEST_CASE_METHOD(RedisTest,
                 "redis: a batch waits for the disk of a replica no longer than it takes") {
  StartServer({"--repl-diskless-sync-delay", "0"});
  const RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(server().port())});
  const auto store = Open("wait=1&wait_timeout=5s");
  CHECK(WriteAtLast(*store, Batch(1, {Put("k", "v", 1)})) == WriteResult{});
  const auto start = std::chrono::steady_clock::now();
  for (Version version = 2; version <= 21; ++version) {
    CHECK(WriteNow(*store, Batch(1, {Put("k", "v", version)})) == WriteResult{});
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}

TEST_CASE_METHOD(RedisTest, "redis: a delete that no replica has is not safe for others either") {
  const std::string layout = GENERATE(std::string("mode=plain"), std::string("tombstone_ttl=0s"));
  CAPTURE(layout);
  StartServer({"--repl-diskless-sync-delay", "0"});
  RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(server().port())});
  const auto one = Open(layout + "&wait=1&wait_timeout=50ms");
  const auto two = Open(layout + "&wait=1&wait_timeout=50ms");
  CHECK(WriteAtLast(*one, Batch(1, {Put("k", "v", 1)})) == WriteResult{});
  CHECK(WriteAtLast(*two, Batch(1, {Put("other", "v", 2)})) == WriteResult{});
  replica.Signal(SIGSTOP);
  const WriteBatch deleted = Batch(1, {Delete("k", 3)});
  CHECK(WriteNow(*one, deleted).batch == Errc::kUnknown);
  CHECK(WriteNow(*two, deleted).batch == Errc::kUnknown);
  replica.Signal(SIGCONT);
  CHECK(WriteAtLast(*two, deleted) == WriteResult{});
  CHECK(replica.Execute({"EXISTS", "k"}) == "0");
}

TEST_CASE_METHOD(RedisTest, "redis: plain values are anybody's") {
  const auto store = Open("mode=plain&prefix=doc%3A");
  CHECK_FALSE(store->traits().compares_stamps);
  CHECK_FALSE(store->traits().fences);
  CHECK(store->traits().atomic_batches);
  server().Execute({"SET", "doc:theirs", "from elsewhere"});
  server().Execute({"RPUSH", "doc:list", "x"});
  CHECK(ReadOne(*store, "theirs") == Found("from elsewhere", {}));
  CHECK(ReadOne(*store, "list") == StoredState{});
  CHECK(WriteNow(*store, Batch(1, {Put("ours", "v", 1), Delete("theirs", 2), Put("list", "", 3),
                                   Delete("never", 4)})) == WriteResult{});
  CHECK(server().Execute({"GET", "doc:ours"}) == "v");
  CHECK(server().Execute({"EXISTS", "doc:theirs"}) == "0");
  CHECK(server().Execute({"TYPE", "doc:list"}) == "string");
  CHECK(FenceNow(*store, "s", 1) == Errc::kRefused);
}

TEST_CASE_METHOD(RedisTest, "redis: a scan keeps to its prefix, and to keys of its kind") {
  const std::string mode = GENERATE(std::string("plain"), std::string("versioned"));
  const bool versioned = mode == "versioned";
  CAPTURE(mode);
  const auto store = Open("mode=" + mode + "&prefix=a%2A%5B1%5D%5C%3A");  // a*[1]\:
  CHECK(WriteNow(*store, Batch(1, {Put("ours", "v", 1), Put("", "", 2)})) == WriteResult{});
  (void)NewEpochNow(*store);
  if (versioned) CHECK_FALSE(FenceNow(*store, "s", 7));
  server().Execute({"SET", "ax1\\:theirs", "v"});
  server().Execute({"SET", "a*[1]", "v"});
  server().Execute({"RPUSH", "a*[1]\\:list", "x"});
  for (const bool values : {true, false}) {
    CAPTURE(values);
    std::map<std::string, StoredState> found;
    for (const ScanResult& page : ScanAll(*store, {.cursor = {}, .limit = 1, .values = values})) {
      CHECK(page.errc == Errc::kOk);
      for (const ScannedKey& scanned : page.keys) found[scanned.key] = scanned.state;
    }
    CHECK(found ==
          std::map<std::string, StoredState>{{"", Found(*store, "", {1, 2})},
                                             {"ours", Found(*store, values ? "v" : "", {1, 1})}});
  }
  if (!versioned) return;
  server().Execute({"SET", "a*[1]\\:foreign", "v"});
  const Pages pages = ScanAll(*store, {});
  CHECK(std::any_of(pages.begin(), pages.end(), [](const ScanResult& page) {
    return std::count(page.keys.begin(), page.keys.end(),
                      ScannedKey{"foreign", {.errc = Errc::kCorrupt}}) == 1;
  }));
}

// The order of SCAN depends on a random number of the process.
TEST_CASE_METHOD(RedisTest, "redis: a scan goes on, and misses nothing, when its server restarts") {
  const auto store = Open();
  std::vector<WriteItem> items;
  for (Version i = 1; i <= 200; ++i) items.push_back(Put("k" + std::to_string(i), "v", i));
  CHECK(WriteNow(*store, Batch(1, items)) == WriteResult{});
  std::size_t pages = 0;
  std::map<std::string, std::size_t> seen;
  const auto scanned = ScanAll(*store, {.cursor = {}, .limit = 30}, [&] {
    if (++pages != 4) return;
    server().Kill();
    server().Start();
  });
  for (const ScanResult& page : scanned) {
    CHECK(page.errc == Errc::kOk);
    for (const ScannedKey& key : page.keys) ++seen[key.key];
  }
  CHECK(seen.size() == items.size());
  // It has begun again.
  CHECK(std::any_of(seen.begin(), seen.end(), [](const auto& key) { return key.second > 1; }));
}

TEST_CASE_METHOD(RedisTest, "redis: a ghost write of a former owner is fenced") {
  TcpProxy network(server().port());
  const auto store = Open("timeout=300ms", network.port());
  const auto successor = Open();  // past the proxy
  CHECK(WriteAtLast(*store, Scoped("s", Batch(1, {Put("k", "1", 1)}))) == WriteResult{});
  network.Behave({.hold_requests = true});
  CHECK(WriteNow(*store, Scoped("s", Batch(1, {Put("new", "ghost", 2)}))).batch == Errc::kUnknown);
  CHECK_FALSE(FenceNow(*successor, "s", 2));
  const int scripts = ScriptsRun();
  network.Behave({});
  CHECK(Eventually([&] { return ScriptsRun() > scripts; }));  // it did arrive
  CHECK_FALSE(ReadOne(*successor, "new").found);
  CHECK(WriteNow(*store, Scoped("s", Batch(1, {Put("new", "late", 3)}))).batch == Errc::kFenced);
}

}  // namespace stout::test
