// Commands of stout-node on keys that expire.

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "node/deadlines.h"
#include "tests/integration/timed_node.h"
#include "tests/support/catch.h"
#include "tests/support/redis_server.h"
#include "tests/support/resp_client.h"

namespace stout::node {
namespace {

TEST_CASE("a key exists up to its deadline, and then not for any command", "[node][expiry]") {
  TimedWorld world;
  CHECK(world.Do({"SET", "k", "v", "PX", "1000"}) == "+OK");
  CHECK(world.store.Stored("k") == Dated("v", kStart + 1000));
  world.now = kStart + 1000;
  CHECK(world.Do({"GET", "k"}) == "$v");
  CHECK(world.Do({"PTTL", "k"}) == ":0");
  CHECK(world.Do({"DBSIZE"}) == ":1");
  ++world.now;
  CHECK(world.Do({"GET", "k"}) == "(nil)");
  CHECK(world.Do({"MGET", "k"}) == "[(nil)]");
  CHECK(world.Do({"EXISTS", "k"}) == ":0");
  CHECK(world.Do({"TYPE", "k"}) == "+none");
  CHECK(world.Do({"STRLEN", "k"}) == ":0");
  CHECK(world.Do({"TTL", "k"}) == ":-2");
  CHECK(world.Do({"EXPIRETIME", "k"}) == ":-2");
  CHECK(world.Do({"PERSIST", "k"}) == ":0");
  CHECK(world.Do({"EXPIRE", "k", "9"}) == ":0");
  CHECK(world.Do({"GETEX", "k", "EX", "9"}) == "(nil)");
  CHECK(world.Do({"SET", "k", "w", "XX"}) == "(nil)");
  CHECK(world.Do({"SCAN", "0"}) == "[$0, []]");
  CHECK(world.Do({"DBSIZE"}) == ":0");
  CHECK(world.store.Stored("k") == Dated("v", kStart + 1000));

  const std::vector<std::pair<Words, std::string>> begins_again = {
      {{"INCR", "k"}, "1"},           {{"APPEND", "k", "a"}, "a"},
      {{"SETNX", "k", "n"}, "n"},     {{"SET", "k", "s", "KEEPTTL"}, "s"},
      {{"SET", "k", "x", "NX"}, "x"}, {{"GETSET", "k", "g"}, "g"},
  };
  for (const auto& [command, value] : begins_again) {
    CAPTURE(command);
    CHECK(world.Do({"SET", "k", "7", "PXAT", At(1)}) == "+OK");
    CHECK(world.Do({"GET", "k"}) == "(nil)");
    (void)world.Do(command);
    CHECK(world.store.Stored("k") == value);
  }
}

TEST_CASE("a key that has expired is deleted from the store, so that no clock shows it again",
          "[node][expiry]") {
  TimedWorld world;
  const std::vector<std::pair<Words, std::string>> deletes = {{{"DEL", "none", "k"}, ":0"},
                                                              {{"UNLINK", "k"}, ":0"},
                                                              {{"GETDEL", "k"}, "(nil)"},
                                                              {{"FLUSHALL"}, "+OK"}};
  for (const auto& [command, reply] : deletes) {
    CAPTURE(command);
    CHECK(world.Do({"SET", "k", "v", "PXAT", At(1)}) == "+OK");
    world.now = kStart + 2;
    CHECK(world.Do(command) == reply);
    CHECK(world.store.Stored("k") == "(none)");
    world.now = kStart;
    CHECK(world.Do({"GET", "k"}) == "(nil)");
  }
}

TEST_CASE("commands keep, replace or remove a deadline", "[node][expiry]") {
  TimedWorld world;
  struct Case {
    Words command;
    std::string ttl;
  };
  for (const auto& [command, ttl] : std::vector<Case>{
           {{"INCR", "k"}, ":100"},
           {{"DECRBY", "k", "3"}, ":100"},
           {{"APPEND", "k", "1"}, ":100"},
           {{"SET", "k", "v", "KEEPTTL"}, ":100"},
           {{"SET", "k", "v", "NX"}, ":100"},
           {{"SET", "k", "v", "XX", "KEEPTTL", "GET"}, ":100"},
           {{"GETEX", "k"}, ":100"},
           {{"EXPIRE", "k", "9", "NX"}, ":100"},
           {{"EXPIRE", "k", "100", "GT"}, ":100"},
           {{"EXPIRE", "k", "100", "LT"}, ":100"},
           {{"EXPIRE", "k", "101", "xx", "gt"}, ":101"},
           {{"EXPIRE", "k", "99", "LT", "XX"}, ":99"},
           {{"PEXPIRE", "k", "1500"}, ":2"},
           {{"PEXPIRE", "k", "1499"}, ":1"},
           {{"PEXPIRE", "k", "1"}, ":0"},
           {{"EXPIREAT", "k", "1700000007"}, ":7"},
           {{"PEXPIREAT", "k", At(7000)}, ":7"},
           {{"GETEX", "k", "EX", "9"}, ":9"},
           {{"GETEX", "k", "PXAT", At(5000)}, ":5"},
           {{"SET", "k", "v", "EX", "3"}, ":3"},
           {{"SET", "k", "v", "EXAT", "1700000004", "XX"}, ":4"},
           {{"SETEX", "k", "8", "v"}, ":8"},
           {{"PSETEX", "k", "8000", "v"}, ":8"},
           {{"SET", "k", "v"}, ":-1"},
           {{"SET", "k", "v", "GET"}, ":-1"},
           {{"GETSET", "k", "v"}, ":-1"},
           {{"MSET", "k", "v"}, ":-1"},
           {{"PERSIST", "k"}, ":-1"},
           {{"GETEX", "k", "PERSIST"}, ":-1"},
           {{"EXPIRE", "k", "0"}, ":-2"},
           {{"EXPIRE", "k", "-5"}, ":-2"},
           {{"PEXPIREAT", "k", "0"}, ":-2"},
           {{"PEXPIREAT", "k", At(0)}, ":-2"},
           {{"GETEX", "k", "EXAT", "1"}, ":-2"},
           {{"SET", "k", "v", "PXAT", "1"}, ":-2"},
       }) {
    CAPTURE(command);
    CHECK(world.Do({"SET", "k", "7", "EX", "100"}) == "+OK");
    const std::string reply = world.Do(command);
    CAPTURE(reply);
    CHECK_FALSE(reply.starts_with("-"));
    CHECK(world.Do({"TTL", "k"}) == ttl);
  }
  CHECK(world.Do({"SET", "k", "v"}) == "+OK");
  CHECK(world.Do({"EXPIRE", "k", "9", "GT"}) == ":0");
  CHECK(world.Do({"EXPIRE", "k", "9", "XX"}) == ":0");
  CHECK(world.Do({"EXPIRE", "k", "9", "LT"}) == ":1");
  CHECK(world.Do({"PEXPIRETIME", "k"}) == ":" + At(9000));
  CHECK(world.Do({"EXPIRETIME", "k"}) == ":1700000009");
  CHECK(world.Do({"PEXPIREAT", "k", "0"}) == ":1");
  CHECK(world.store.Stored("k") == "(none)");
}

TEST_CASE("a time that overflows is refused, and changes nothing", "[node][expiry]") {
  TimedWorld world;
  const std::string last = std::to_string(std::numeric_limits<std::int64_t>::max());
  const auto bad = [](const std::string& name) {
    return "-ERR invalid expire time in '" + name + "' command";
  };
  CHECK(world.Do({"SET", "k", "v"}) == "+OK");
  CHECK(world.Do({"SET", "k", "w", "PX", last}) == bad("set"));
  CHECK(world.Do({"GETEX", "k", "PX", last}) == bad("getex"));
  CHECK(world.Do({"PSETEX", "k", last, "w"}) == bad("psetex"));
  CHECK(world.Do({"PEXPIRE", "k", last}) == bad("pexpire"));
  CHECK(world.store.Stored("k") == "v");
  CHECK(world.Do({"PEXPIREAT", "k", last}) == ":1");
  CHECK(world.Do({"PEXPIRETIME", "k"}) == ":" + last);
  CHECK(world.Do({"EXPIRETIME", "k"}) == ":9223372036854776");
}

TEST_CASE("a value that looks like one with a deadline is a value like any", "[node][expiry]") {
  TimedWorld world;
  const std::string value = Dated("v", 1);
  CHECK(world.Do({"SET", "k", value}) == "+OK");
  CHECK(world.Do({"GET", "k"}) == "$" + value);
  CHECK(world.Do({"TTL", "k"}) == ":-1");
  CHECK(world.Do({"APPEND", "k", "w"}) == ":" + std::to_string(value.size() + 1));
  CHECK(world.Do({"EXPIRE", "k", "9"}) == ":1");
  CHECK(world.Do({"GETSET", "k", value}) == "$" + value + "w");
  CHECK(world.Do({"STRLEN", "k"}) == ":" + std::to_string(value.size()));
}

TEST_CASE("all commands of a transaction see one time", "[node][expiry]") {
  TimedWorld world;
  world.node.service.main.deadlines.now = [&world] { return world.now++; };  // each look takes time
  const std::vector<Words> commands = {{"MULTI"},     {"SET", "k", "v", "PX", "1"},
                                       {"PTTL", "k"}, {"PTTL", "k"},
                                       {"GET", "k"},  {"EXEC"}};
  CHECK(world.client.Pipeline(commands).back() == "[+OK, :1, :1, $v]");
  CHECK(world.client.Pipeline({{"PSETEX", "p", "1", "v"}, {"PTTL", "p"}, {"GET", "p"}}) ==
        std::vector<std::string>{"+OK", ":1", "$v"});
}

TEST_CASE("a watched key that expires has changed", "[node][expiry]") {
  TimedWorld world;
  const auto run = [&](std::int64_t passes) {
    CHECK(world.Do({"SET", "k", "v", "PX", "10"}) == "+OK");
    CHECK(world.Do({"WATCH", "k"}) == "+OK");
    world.now += passes;
    CHECK(world.Do({"MULTI"}) == "+OK");
    CHECK(world.Do({"PING"}) == "+QUEUED");
    return world.Do({"EXEC"});
  };
  CHECK(run(10) == "[+PONG]");
  CHECK(run(11) == "(nil)");
  CHECK(world.Do({"GET", "k"}) == "(nil)");
  CHECK(world.Do({"WATCH", "k"}) == "+OK");  // it has expired already
  world.now += 5;
  CHECK(world.Do({"MULTI"}) == "+OK");
  CHECK(world.Do({"EXEC"}) == "[]");
}

TEST_CASE("deadlines survive the node", "[node][expiry]") {
  TimedWorld world;
  CHECK(world.Do({"SET", "k", "v", "EX", "9"}) == "+OK");
  CHECK(world.Do({"SET", "l", "v"}) == "+OK");
  world.node.Close();
  TimedNode next(world.context, world.store, world.now, 2);
  Connection client(next);
  CHECK(client.Do({"TTL", "k"}) == ":9");
  CHECK(client.Do({"TTL", "l"}) == ":-1");
  world.now += 9001;
  CHECK(client.Do({"GET", "k"}) == "(nil)");
  CHECK(client.Do({"GET", "l"}) == "$v");
}

TEST_CASE("a store whose values are not any bytes takes no deadlines", "[node][expiry]") {
  TimedWorld world;
  world.store.TakeNoExpiry();
  CHECK(world.Do({"SET", "k", "v"}) == "+OK");
  for (const Words& command : std::vector<Words>{{"SET", "k", "w", "EX", "9"},
                                                 {"SETEX", "k", "9", "w"},
                                                 {"PSETEX", "k", "9", "w"},
                                                 {"EXPIRE", "k", "9"},
                                                 {"PEXPIREAT", "k", "9"},
                                                 {"GETEX", "k", "PX", "9"}}) {
    CAPTURE(command);
    CHECK(world.Do(command).find("its URL needs ?expiry=true") != std::string::npos);
  }
  CHECK(world.store.Stored("k") == "v");
  CHECK(world.Do({"GETEX", "k"}) == "$v");
  CHECK(world.Do({"TTL", "k"}) == ":-1");
  CHECK(world.Do({"PERSIST", "k"}) == ":0");
  CHECK(world.Do({"SET", "k", "w", "KEEPTTL"}) == "+OK");
  CHECK(world.Do({"EXPIRE", "k", "x"}) == "-ERR value is not an integer or out of range");
  const std::string odd = Dated("v", 1);
  CHECK(world.Do({"SET", "k", odd}) == "+OK");
  CHECK(world.Do({"GET", "k"}) == "$" + odd);
}

TEST_CASE("commands of expiry answer as redis's do", "[node][expiry][differential]") {
  const test::RedisServer redis;
  test::RespClient theirs(redis.port());
  TimedWorld world;
  world.node.service.main.deadlines.now = UnixMilliseconds;
  const std::string last = std::to_string(std::numeric_limits<std::int64_t>::max());
  const std::string first = std::to_string(std::numeric_limits<std::int64_t>::min());
  for (const char* const name : {"EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT"}) {
    for (const Words& rest : std::vector<Words>{{"9999999999"},
                                                {"9999999999", "NX"},
                                                {"9999999999", "XX"},
                                                {"90000", "nx"},
                                                {"9999999998", "XX", "LT"},
                                                {"9999999998", "GT"},
                                                {"90000", "GT", "LT"},
                                                {"90000", "NX", "XX"},
                                                {"90000", "NX", "GT"},
                                                {"90000", "NX", "LT"},
                                                {"90000", "KEEP"},
                                                {"x", "KEEP"},
                                                {"x"},
                                                {last},
                                                {first},
                                                {"9223372036854776"},
                                                {"-9223372036854776"},
                                                {"9223372036854775"},
                                                {"0", "XX"},
                                                {"-1", "NX"},
                                                {"80000", "LT"},
                                                {"90000", "XX", "XX"},
                                                {"90000", "G\nT"}}) {
      for (const char* const set : {"v", "dated"}) {
        Words command = {name, "k"};
        command.insert(command.end(), rest.begin(), rest.end());
        CAPTURE(command, set);
        Words before = {"SET", "k", "v"};
        if (set != std::string("v")) before.insert(before.end(), {"EXAT", "9999999999"});
        CHECK(world.Do(before) == theirs.Do(before));
        CHECK(world.Do(command) == theirs.Do(command));
        CHECK(world.Do({"EXISTS", "k"}) == theirs.Do({"EXISTS", "k"}));
        CHECK(world.Do({"DEL", "k"}) == theirs.Do({"DEL", "k"}));
        CHECK(world.Do(command) == theirs.Do(command));
      }
    }
  }
  for (const Words& command : std::vector<Words>{{"SET", "k", "v", "EXAT", "9999999999"},
                                                 {"PEXPIRETIME", "k"},
                                                 {"EXPIRETIME", "k"},
                                                 {"GETEX", "k", "EX", "0"},
                                                 {"GETEX", "k", "PX", "-1"},
                                                 {"GETEX", "k", "EX", "x"},
                                                 {"GETEX", "k", "EX", "9", "PX", "9"},
                                                 {"GETEX", "k", "EX", "9", "PERSIST"},
                                                 {"GETEX", "k", "PERSIST", "EX", "9"},
                                                 {"GETEX", "k", "PERSIST", "PERSIST"},
                                                 {"PERSIST", "k"},
                                                 {"GETEX", "k", "KEEPTTL"},
                                                 {"GETEX", "k", "EX"},
                                                 {"GETEX", "k", "PX", last},
                                                 {"GETEX", "k", "EX", last},
                                                 {"GETEX", "k", "PXAT", "9999999999999"},
                                                 {"PEXPIRETIME", "k"},
                                                 {"GETEX", "k", "PXAT", "1"},
                                                 {"GET", "k"},
                                                 {"SETEX", "k", "0", "v"},
                                                 {"SETEX", "k", "-1", "v"},
                                                 {"SETEX", "k", "x", "v"},
                                                 {"SETEX", "k", last, "v"},
                                                 {"SETEX", "k", "9"},
                                                 {"PSETEX", "k", "0", "v"},
                                                 {"PSETEX", "k", last, "v"},
                                                 {"SET", "k", "v", "PX", last},
                                                 {"SET", "k", "v", "EX", "9223372036854775"},
                                                 {"SET", "k", "v", "PXAT", last},
                                                 {"PEXPIRETIME", "k"},
                                                 {"SET", "k", "v", "PXAT", "1", "GET"},
                                                 {"GET", "k"},
                                                 {"SET", "k", "v", "PXAT", "0"},
                                                 {"TTL", "none"},
                                                 {"TTL"},
                                                 {"PERSIST", "none"}}) {
    CAPTURE(command);
    CHECK(world.Do(command) == theirs.Do(command));
  }
}

}  // namespace
}  // namespace stout::node
