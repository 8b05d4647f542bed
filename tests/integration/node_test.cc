// stout-node as a program, as clients of Redis see it.

#include <fmt/format.h>

#include <csignal>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/private_server.h"
#include "tests/support/resp_client.h"

namespace stout::test {
namespace {

// A private stout-node. In `store`, {} is its directory.
class Node final : public PrivateServer {
 public:
  explicit Node(std::string store, std::vector<std::string> settings = {})
      : PrivateServer("stout-node"), store_(std::move(store)), settings_(std::move(settings)) {
    StartOnFreePort();
  }

 private:
  [[nodiscard]] std::vector<std::string> Command() const override {
    // A data race ends it, so that the test sees it.
    std::vector<std::string> command = {"env",
                                        "TSAN_OPTIONS=halt_on_error=1",
                                        STOUT_NODE,
                                        "--listen",
                                        "127.0.0.1:" + std::to_string(port()),
                                        "--store",
                                        fmt::format(fmt::runtime(store_), directory())};
    command.insert(command.end(), settings_.begin(), settings_.end());
    return command;
  }
  // The log is no sign: it keeps what the node printed before it was killed.
  [[nodiscard]] bool Answers() const override {
    try {
      const std::string answer = RespClient(port()).Do({"PING"});
      return answer == "+PONG" || answer.starts_with("-NOAUTH");
    } catch (const std::runtime_error&) {
      return false;
    }
  }

  const std::string store_;
  const std::vector<std::string> settings_;
};

TEST_CASE("a node answers commands on keys as redis does", "[node]") {
  const Node node("memory:");
  RespClient client(node.port());
  CHECK(client.Do({"PING"}) == "+PONG");
  CHECK(client.Do({"GET", "k"}) == "(nil)");
  CHECK(client.Do({"SET", "k", "v"}) == "+OK");
  CHECK(client.Do({"GET", "k"}) == "$v");
  CHECK(client.Do({"SET", "k", "w", "NX"}) == "(nil)");
  CHECK(client.Do({"SET", "k", "w", "XX", "GET"}) == "$v");
  CHECK(client.Do({"SET", "k", "w", "EX", "9"}).starts_with("-ERR keys do not expire here"));
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

TEST_CASE("a node over memory reports that nothing survives", "[node]") {
  const Node node("memory:");
  CHECK(node.Log().find("nothing survives") != std::string::npos);
}

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
  Node node("rocksdb:{}/data");
  {
    RespClient client(node.port());
    REQUIRE(client.Do({"SET", "k", "v"}) == "+OK");
  }
  node.Signal(SIGTERM);
  CHECK(Eventually([&] { return !node.Up(); }));
  CHECK(node.Log().find("ended with exit code 0") != std::string::npos);
  node.Start();
  CHECK(RespClient(node.port()).Do({"GET", "k"}) == "$v");
}
#endif

}  // namespace
}  // namespace stout::test
