// stout-node as a program, as clients of Redis see it.

#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/node_server.h"
#include "tests/support/process.h"
#include "tests/support/redis_server.h"
#include "tests/support/resp_client.h"
#include "tests/support/temp_directory.h"

namespace stout::test {
namespace {

using Node = NodeServer;

TEST_CASE("a node answers commands on keys as redis does", "[node]") {
  const Node node("memory:");
  RespClient client(node.port());
  CHECK(client.Do({"PING"}) == "+PONG");
  CHECK(client.Do({"GET", "k"}) == "(nil)");
  CHECK(client.Do({"SET", "k", "v"}) == "+OK");
  CHECK(client.Do({"GET", "k"}) == "$v");
  CHECK(client.Do({"SET", "k", "w", "NX"}) == "(nil)");
  CHECK(client.Do({"SET", "k", "w", "XX", "GET"}) == "$v");
  CHECK(client.Do({"SET", "e", "w", "EX", "0"}) == "-ERR invalid expire time in 'set' command");
  CHECK(client.Do({"SET", "k", "w", "?"}) == "-ERR syntax error");
  CHECK(client.Do({"STRLEN", "k"}) == ":1");
  CHECK(client.Do({"EXISTS", "k", "none", "k"}) == ":2");
  CHECK(client.Do({"INCR", "n"}) == ":1");
  CHECK(client.Do({"INCR", "k"}) == "-ERR value is not an integer or out of range");
  CHECK(client.Do({"SET", "n", "9223372036854775807"}) == "+OK");
  CHECK(client.Do({"INCR", "n"}) == "-ERR increment or decrement would overflow");
  CHECK(client.Do({"DECRBY", "n", "7"}) == ":9223372036854775800");
  CHECK(client.Do({"INCRBY", "n", "8"}) == "-ERR increment or decrement would overflow");
  CHECK(client.Do({"INCRBY", "n", "x"}) == "-ERR value is not an integer or out of range");
  CHECK(client.Do({"DECRBY", "n", "-9223372036854775808"}) == "-ERR decrement would overflow");
  CHECK(client.Do({"DECR", "m"}) == ":-1");
  CHECK(client.Do({"APPEND", "e", ""}) == ":0");
  CHECK(client.Do({"EXISTS", "e"}) == ":1");
  CHECK(client.Do({"APPEND", "t", "ab"}) == ":2");
  CHECK(client.Do({"APPEND", "t", ""}) == ":2");
  CHECK(client.Do({"APPEND", "t", "c"}) == ":3");
  CHECK(client.Do({"GETSET", "t", "d"}) == "$abc");
  CHECK(client.Do({"SETNX", "t", "e"}) == ":0");
  CHECK(client.Do({"GETDEL", "t"}) == "$d");
  CHECK(client.Do({"GETDEL", "t"}) == "(nil)");
  CHECK(client.Do({"TYPE", "t"}) == "+none");
  CHECK(client.Do({"SETNX", "t", "e"}) == ":1");
  CHECK(client.Do({"TYPE", "t"}) == "+string");
  CHECK(client.Do({"UNLINK", "t", "m"}) == ":2");
  CHECK(client.Do({"MSET", "a", "1", "b", "2", "a", "3"}) == "+OK");
  CHECK(client.Do({"MSET", "a", "1", "b"}) == "-ERR wrong number of arguments for 'mset' command");
  CHECK(client.Do({"MGET", "a", "none", "b", "a"}) == "[$3, (nil), $2, $3]");
  CHECK(client.Do({"DEL", "a", "none", "a", "b"}) == ":2");
  CHECK(client.Do({"MGET", "a", "b"}) == "[(nil), (nil)]");
  CHECK(client.Do({"KEYS", "*"}).starts_with("-ERR unknown command 'KEYS'"));
  CHECK(client.Do({"CLIENT"}) == "-ERR wrong number of arguments for 'client' command");
  CHECK(client.Do({"COMMAND", "COUNT"}) != ":0");
  CHECK(client.Do({"INFO"}).find("redis_version:") != std::string::npos);
}

TEST_CASE("SCAN, DBSIZE and FLUSHALL are about all keys", "[node]") {
  const Node node("memory:");
  RespClient client(node.port());
  CHECK(client.Do({"DBSIZE"}) == ":0");
  CHECK(client.Do({"SCAN", "0"}) == "[$0, []]");
  const int keys = 2500;
  for (int i = 0; i < keys; ++i) client.Queue({"SET", fmt::format("k{}", i), "v"});
  for (int i = 0; i < keys; ++i) REQUIRE(client.Receive() == "+OK");
  CHECK(client.Do({"DEL", "k7"}) == ":1");
  CHECK(client.Do({"DBSIZE"}) == fmt::format(":{}", keys - 1));
  std::set<std::string> found;
  std::string cursor = "0";
  do {
    const std::string page = client.Do({"SCAN", cursor, "COUNT", "300", "MATCH", "k*"});
    cursor = page.substr(2, page.find(',') - 2);
    for (std::size_t at = page.find("$k"); at != page.npos; at = page.find("$k", at + 1)) {
      found.insert(page.substr(at + 1, page.find_first_of(",]", at) - at - 1));
    }
  } while (cursor != "0");
  CHECK(found.size() == static_cast<std::size_t>(keys - 1));
  CHECK_FALSE(found.contains("k7"));
  CHECK(client.Do({"SCAN", "77"}).starts_with("-ERR the cursor is not known"));
  CHECK(client.Do({"SCAN", "x"}) == "-ERR invalid cursor");
  CHECK(client.Do({"SCAN", "0", "TYPE", "hash", "COUNT", "5000"}).find("$k") == std::string::npos);
  CHECK(client.Do({"FLUSHALL", "LATER"}) == "-ERR syntax error");
  CHECK(client.Do({"FLUSHALL", "ASYNC"}) == "+OK");
  CHECK(client.Do({"DBSIZE"}) == ":0");
  CHECK(client.Do({"GET", "k1"}) == "(nil)");
  CHECK(client.Do({"MULTI"}) == "+OK");
  CHECK(client.Do({"DBSIZE"}) == "-ERR Command not allowed inside a transaction");
  CHECK(client.Do({"EXEC"}).starts_with("-EXECABORT"));
}

TEST_CASE("a transaction runs its commands together", "[node]") {
  const Node node("memory:");
  RespClient client(node.port());
  CHECK(client.Do({"EXEC"}) == "-ERR EXEC without MULTI");
  CHECK(client.Do({"DISCARD"}) == "-ERR DISCARD without MULTI");
  CHECK(client.Do({"MULTI"}) == "+OK");
  CHECK(client.Do({"MULTI"}) == "-ERR MULTI calls can not be nested");
  CHECK(client.Do({"WATCH", "k"}) == "-ERR WATCH inside MULTI is not allowed");
  CHECK(client.Do({"SET", "k", "1"}) == "+QUEUED");
  CHECK(client.Do({"INCR", "k"}) == "+QUEUED");
  CHECK(client.Do({"ECHO", "x"}) == "+QUEUED");
  CHECK(client.Do({"MGET", "k", "none"}) == "+QUEUED");
  CHECK(client.Do({"SET", "t", "text"}) == "+QUEUED");
  CHECK(client.Do({"INCR", "t"}) == "+QUEUED");
  CHECK(RespClient(node.port()).Do({"GET", "k"}) == "(nil)");
  CHECK(client.Do({"EXEC"}) ==
        "[+OK, :2, $x, [$2, (nil)], +OK, -ERR value is not an integer or out of range]");
  CHECK(client.Do({"MULTI"}) == "+OK");
  CHECK(client.Do({"EXEC"}) == "[]");
  CHECK(client.Do({"MULTI"}) == "+OK");
  CHECK(client.Do({"SET", "k", "3"}) == "+QUEUED");
  CHECK(client.Do({"DISCARD"}) == "+OK");
  CHECK(client.Do({"MULTI"}) == "+OK");
  CHECK(client.Do({"SET", "k"}) == "-ERR wrong number of arguments for 'set' command");
  CHECK(client.Do({"SET", "k", "4"}) == "+QUEUED");
  CHECK(client.Do({"EXEC"}) == "-EXECABORT Transaction discarded because of previous errors.");
  CHECK(client.Do({"GET", "k"}) == "$2");
  CHECK(client.Do({"MULTI"}) == "+OK");
  for (int i = 0; i < 16'384; ++i) client.Queue({"PING"});
  for (int i = 0; i < 16'384; ++i) REQUIRE(client.Receive() == "+QUEUED");
  CHECK(client.Do({"PING"}) ==
        "-ERR a transaction has at most 16384 commands, 500000 words and --max-request bytes");
  CHECK(client.Do({"EXEC"}).starts_with("-EXECABORT"));
}

TEST_CASE("EXEC runs nothing if a watched key has changed", "[node]") {
  const Node node("memory:");
  RespClient client(node.port());
  RespClient other(node.port());
  const auto run = [&] {
    REQUIRE(client.Do({"MULTI"}) == "+OK");
    REQUIRE(client.Do({"INCR", "n"}) == "+QUEUED");
    return client.Do({"EXEC"});
  };
  CHECK(client.Do({"WATCH", "k", "l"}) == "+OK");
  CHECK(run() == "[:1]");
  CHECK(client.Do({"WATCH", "k", "l"}) == "+OK");
  CHECK(other.Do({"SET", "l", "v"}) == "+OK");
  CHECK(run() == "(nil)");
  CHECK(run() == "[:2]");  // EXEC ended the watch
  CHECK(client.Do({"WATCH", "l"}) == "+OK");
  CHECK(other.Do({"SET", "l", "v"}) == "+OK");
  CHECK(client.Do({"UNWATCH"}) == "+OK");
  CHECK(run() == "[:3]");
  CHECK(client.Do({"WATCH", "l"}) == "+OK");
  CHECK(client.Do({"MULTI"}) == "+OK");
  CHECK(client.Do({"NOPE"}).starts_with("-ERR unknown command"));
  CHECK(client.Do({"EXEC"}).starts_with("-EXECABORT"));  // it ends the watch, too
  CHECK(other.Do({"SET", "l", "w"}) == "+OK");
  CHECK(run() == "[:4]");
  CHECK(client.Do({"WATCH", "l"}) == "+OK");
  CHECK(other.Do({"DEL", "l"}) == ":1");
  CHECK(client.Do({"MULTI"}) == "+OK");
  CHECK(client.Do({"DISCARD"}) == "+OK");
  CHECK(run() == "[:5]");
}

TEST_CASE("RESET ends the transaction and the watch of a connection", "[node]") {
  const Node node("memory:");
  RespClient client(node.port());
  const bool one_batch = GENERATE(true, false);
  CAPTURE(one_batch);
  std::vector<std::string> replies;
  for (const auto& command : std::vector<std::vector<std::string>>{{"HELLO", "3"},
                                                                   {"CLIENT", "SETNAME", "name"},
                                                                   {"WATCH", "k"},
                                                                   {"MULTI"},
                                                                   {"SET", "k", "queued"},
                                                                   {"RESET", "argument"},
                                                                   {"reset"}}) {
    client.Queue(command);
    if (!one_batch) replies.push_back(client.Receive());
  }
  while (replies.size() < 7) replies.push_back(client.Receive());
  CHECK(replies[4] == "+QUEUED");
  CHECK(replies[5] == "-ERR wrong number of arguments for 'reset' command");
  CHECK(replies[6] == "+RESET");
  CHECK(client.Do({"CONFIG", "GET", "databases"}) == "[$databases, $1]");  // a map in RESP3
  CHECK(client.Do({"CLIENT", "GETNAME"}) == "(nil)");
  CHECK(client.Do({"EXEC"}) == "-ERR EXEC without MULTI");
  CHECK(client.Do({"GET", "k"}) == "(nil)");
  // The watch would abort this.
  CHECK(RespClient(node.port()).Do({"SET", "k", "other"}) == "+OK");
  CHECK(client.Do({"MULTI"}) == "+OK");
  CHECK(client.Do({"GET", "k"}) == "+QUEUED");
  CHECK(client.Do({"EXEC"}) == "[$other]");
}

// Goal: no client sees a transaction half done, also if its keys are read from the store.
TEST_CASE("transactions of several connections are isolated", "[node]") {
  const std::string serving = GENERATE("1", "3");
  CAPTURE(serving);
  const Node node("memory:?latency=1ms", {"--cache-bytes", "1MiB", "--threads", serving});
  const std::string filler(50'000, 'x');
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      RespClient client(node.port());
      for (int round = 0; round < 100; ++round) {
        (void)client.Do({"SET", fmt::format("filler-{}-{}", i, round), filler});  // drops others
        for (const auto& command : std::vector<std::vector<std::string>>{
                 {"MULTI"}, {"INCR", "a"}, {"INCR", "b"}, {"MGET", "a", "b"}, {"EXEC"}}) {
          client.Queue(command);
        }
        for (int j = 0; j < 4; ++j) (void)client.Receive();
        const std::string reply = client.Receive();  // [:1, :1, [$1, $1]]
        const std::string number = reply.substr(2, reply.find(',') - 2);
        wrong += reply != fmt::format("[:{0}, :{0}, [${0}, ${0}]]", number);
      }
    });
  }
  threads.clear();
  CHECK(wrong == 0);
  CHECK(RespClient(node.port()).Do({"GET", "b"}) == "$300");
}

TEST_CASE("a node describes its commands as redis does", "[node][differential]") {
  const Node node("memory:");
  const RedisServer redis;
  RespClient ours(node.port());
  RespClient theirs(redis.port());
  const std::string list = ours.Do({"COMMAND", "LIST"});  // [$auth, $client, ...]
  int compared = 0;
  for (std::size_t at = list.find('$'); at != list.npos; at = list.find('$', at + 1)) {
    const std::string name = list.substr(at + 1, list.find_first_of(",]", at) - at - 1);
    const std::set<std::string_view> of_blowfish = {"getattr", "grep", "schema", "search"};
    if (name.starts_with("stout.") || of_blowfish.contains(name)) continue;
    std::string info = ours.Do({"COMMAND", "INFO", name});
    info.resize(info.find(", [], [], ["));  // tips, key specifications, subcommands
    CAPTURE(name);
    CHECK(theirs.Do({"COMMAND", "INFO", name}).starts_with(info));
    ++compared;
  }
  CHECK(compared > 30);
}

TEST_CASE("a node over memory reports that nothing survives", "[node]") {
  const Node node("memory:");
  CHECK(node.Log().find("nothing survives") != std::string::npos);
}

TEST_CASE("a node reports that nothing survives in a datalet in memory", "[node][members]") {
  const test::NodeServer node("", {"--join", "in-process:", "--datalet", "memory:"});
  CHECK(node.Log().find("nothing survives") != std::string::npos);
}

#ifdef STOUT_HAS_REDIS
TEST_CASE("a node over a Redis that is not durable reports what a crash loses", "[node]") {
  const test::RedisServer redis({"--appendonly", "no"});
  const Node node(redis.Url());
  CHECK(node.Log().find("a crash can lose acknowledged writes") != std::string::npos);
  CHECK(node.Log().find("nothing survives") == std::string::npos);
}
#endif

TEST_CASE("the answers of a pipeline keep the order of its commands", "[node]") {
  const Node node("memory:");
  RespClient client(node.port());
  const int rounds = 3000;  // more than one batch of the server
  for (int i = 0; i < rounds; ++i) {
    client.Queue({"INCR", "n"});
    client.Queue({"ECHO", std::to_string(i)});
    client.Queue({"SET", fmt::format("k{}", i), std::to_string(i)});
    client.Queue({"MGET", fmt::format("k{}", i), "n"});
  }
  for (int i = 0; i < rounds; ++i) {
    REQUIRE(client.Receive() == fmt::format(":{}", i + 1));
    REQUIRE(client.Receive() == fmt::format("${}", i));
    REQUIRE(client.Receive() == "+OK");
    REQUIRE(client.Receive() == fmt::format("[${}, ${}]", i, i + 1));
  }
}

TEST_CASE("increments of several connections are all counted", "[node]") {
  const Node node("memory:", {"--cache-bytes", "1MiB"});
  const int clients = 4;
  const int increments = 500;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < clients; ++i) {
      threads.emplace_back([&, i] {
        RespClient client(node.port());
        for (int j = 0; j < increments; ++j) {
          client.Queue({"SET", fmt::format("{}-{}", i, j), std::string(10'000, 'x')});
          client.Queue({"INCR", "n"});
        }
        for (int j = 0; j < 2 * increments; ++j) (void)client.Receive();
      });
    }
  }
  CHECK(RespClient(node.port()).Do({"GET", "n"}) == fmt::format("${}", clients * increments));
}

TEST_CASE("a node with a password admits only clients that know it", "[node]") {
  const TempDirectory directory;
  const std::string file = directory.path() + "/password";
  RunToEnd({"sh", "-c", "echo secret > " + file});
  const Node node("memory:", {"--password-file", file});
  RespClient client(node.port());
  CHECK(client.Do({"SET", "k", "v"}) == "-NOAUTH Authentication required.");
  CHECK(client.Do({"AUTH", "secret"}) == "+OK");
  CHECK(client.Do({"GET", "k"}) == "(nil)");
  CHECK(client.Do({"RESET"}) == "+RESET");
  CHECK(client.Do({"GET", "k"}) == "-NOAUTH Authentication required.");
  CHECK(client.Do({"RESET"}) == "+RESET");
}

#ifdef STOUT_HAS_ROCKSDB
TEST_CASE("kill -9 of a node loses no acknowledged write", "[node]") {
  Node node("rocksdb:{}/data");
  for (int round = 0; round < 3; ++round) {
    std::vector<std::optional<int>> acknowledged(4);
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < acknowledged.size(); ++i) {
        threads.emplace_back([&, i] {
          try {
            RespClient client(node.port());
            for (int j = 0;; ++j) {
              const std::string key = fmt::format("{}-{}-{}", round, i, j);
              client.Queue({"SET", key, std::to_string(j)});
              client.Queue({"INCR", fmt::format("{}-{}", round, i)});
              if (client.Receive() != "+OK" || !client.Receive().starts_with(":")) return;
              acknowledged[i] = j;
            }
          } catch (const std::runtime_error&) {  // the node was killed
          }
        });
      }
      RespClient other(node.port());
      const bool busy = Eventually([&] {
        const std::string count = other.Do({"GET", fmt::format("{}-0", round)});
        return count.starts_with("$") && std::stoi(count.substr(1)) > 100;
      });
      node.Kill();
      REQUIRE(busy);
    }
    node.Start();
    RespClient client(node.port());
    for (std::size_t i = 0; i < acknowledged.size(); ++i) {
      const int last = acknowledged[i].value_or(-1);
      for (int j = 0; j <= last; ++j) {
        REQUIRE(client.Do({"GET", fmt::format("{}-{}-{}", round, i, j)}) == fmt::format("${}", j));
      }
      const std::string count = client.Do({"GET", fmt::format("{}-{}", round, i)});
      CHECK((last < 0 || std::stoi(count.substr(1)) > last));
    }
  }
}

TEST_CASE("a signal ends a node after the answers that are due", "[node]") {
  Node node("rocksdb:{}/data", {"--sweep-interval", "1ms"});
  {
    RespClient client(node.port());
    REQUIRE(client.Do({"SET", "e", "v", "PX", "1"}) == "+OK");
    REQUIRE(client.Do({"SET", "k", "v", "EX", "10000"}) == "+OK");
  }
  node.Signal(SIGTERM);
  CHECK(Eventually([&] { return !node.Up(); }));
  CHECK(node.Log().find("ended with exit code 0") != std::string::npos);
  node.Start();
  CHECK(RespClient(node.port()).Do({"GET", "k"}) == "$v");
  CHECK(RespClient(node.port()).Do({"TTL", "k"}) != ":-1");
}
#endif

}  // namespace
}  // namespace stout::test
