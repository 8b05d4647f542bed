// The commands of the shard server beyond those of Redis, as a client sees them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "resp/store/store_commands.h"
#include "server_settings.h"
#include "stout/core/random.h"
#include "tests/support/blowfish_server.h"
#include "tests/support/catch.h"
#include "tests/support/resp_client.h"

namespace stout::blowfish {
namespace {

using Catch::Contains;
using Catch::StartsWith;
using test::BlowfishServer;
using test::kRestless;
using test::RespClient;
using test::With;

// The elements of a shown array of bulk strings.
std::vector<std::string> Elements(const std::string& reply) {
  std::vector<std::string> elements;
  for (std::size_t at = reply.find('$'); at != std::string::npos; at = reply.find('$', at + 1))
    elements.push_back(reply.substr(at + 1, reply.find_first_of(",]", at) - at - 1));
  std::ranges::sort(elements);
  return elements;
}

TEST_CASE("searches find what brute force finds, through freezes, merges and starts") {
  const bool text_index = GENERATE(false, true);
  std::vector<std::string> settings = With(kRestless, {"--attributes", "name,city,age"});
  if (text_index) settings.emplace_back("--text-index");
  BlowfishServer server(2, settings);
  std::map<std::string, std::string> model;
  SplitMix64 random(7);
  const auto part = [&](std::uint64_t kinds) {
    return std::string(random.Below(3), static_cast<char>('a' + random.Below(kinds)));
  };
  const auto attribute = [](const std::string& value, int number) {
    std::string_view left = value;
    for (; number > 0 && left.find('|') != std::string_view::npos; --number)
      left.remove_prefix(left.find('|') + 1);
    const bool is_last = left.find('|') == std::string_view::npos;
    if (number > 0) return std::string("lacking");
    return std::string(is_last ? left : left.substr(0, left.find('|')));
  };
  for (int round = 0; round < 4; ++round) {
    RespClient client(server.port());
    for (int i = 0; i < 400; ++i) {
      const std::string key = "k" + std::to_string(random.Below(300));
      if (random.Below(5) == 0) {
        CHECK(client.Do({"DEL", key}) == (model.erase(key) != 0 ? ":1" : ":0"));
        continue;
      }
      std::string value = part(3) + "|" + part(4);
      if (random.Below(4) != 0) value += "|" + part(2) + std::string(40, 'x');
      REQUIRE(client.Do({"SET", key, value}) == "+OK");
      model[key] = value;
    }
    for (const std::string city : {"", "a", "aa", "b", "cc", "d", "zz"}) {
      std::vector<std::string> equal, beginning;
      for (const auto& [key, value] : model) {
        const std::string its = attribute(value, 1);
        if (its == city) equal.push_back(key);
        if (its.starts_with(city)) beginning.push_back(key);
      }
      std::ranges::sort(equal);
      std::ranges::sort(beginning);
      CAPTURE(round, city);
      CHECK(Elements(client.Do({"SEARCH", "city", city})) == equal);
      CHECK(client.Do({"SEARCH", "city", city, "COUNT"}) == ":" + std::to_string(equal.size()));
      CHECK(Elements(client.Do({"SEARCH", "city", city, "PREFIX"})) == beginning);
      CHECK(Elements(client.Do({"SEARCH", "city", city, "LIMIT", "2"})).size() ==
            std::min<std::size_t>(2, equal.size()));
    }
    const auto with_cx = std::ranges::count_if(
        model, [](const auto& entry) { return entry.second.find("c|") != std::string::npos; });
    CHECK(client.Do({"GREP", "c|", "COUNT"}) == ":" + std::to_string(with_cx));
    CHECK(client.Do({"DBSIZE"}) == ":" + std::to_string(model.size()));
    const auto& [key, value] = *model.begin();
    CHECK(client.Do({"GETATTR", key, "city"}) == "$" + attribute(value, 1));
    CHECK(client.Do({"GETRANGE", key, "1", "-2"}) ==
          "$" + (value.size() < 3 ? "" : value.substr(1, value.size() - 2)));
    if (round % 2 == 1) {
      server.Kill();
      server.Start();
    }
  }
  RespClient client(server.port());
  CHECK(client.Do({"CONFIG", "GET", "text-index"}) ==
        (text_index ? "[$text-index, $yes]" : "[$text-index, $no]"));
  CHECK(client.Do({"SEARCH", "colour", "red"}) == "-ERR no such attribute; see SCHEMA");
  CHECK(client.Do({"GETATTR", "k1", "colour"}) == "-ERR no such attribute; see SCHEMA");
  CHECK(client.Do({"SCHEMA"}) == "[$delimiter, $|, $attributes, [$name, $city, $age]]");
}

TEST_CASE("a client reads what it has written, in one pipeline too") {
  const BlowfishServer server(3, kRestless);
  RespClient client(server.port());
  for (int round = 0; round < 50; ++round) {
    const std::string value = std::to_string(round);
    client.Queue({"SET", "k", value});
    client.Queue({"GET", "k"});
    client.Queue({"SET", "k", value + "'"});
    client.Queue({"MGET", "k", "k"});
    client.Queue({"DEL", "k"});
    client.Queue({"EXISTS", "k"});
    CHECK(client.Receive() == "+OK");
    CHECK(client.Receive() == "$" + value);
    CHECK(client.Receive() == "+OK");
    CHECK(client.Receive() == "[$" + value + "', $" + value + "']");
    CHECK(client.Receive() == ":1");
    CHECK(client.Receive() == ":0");
  }
}

TEST_CASE("the commands between MULTI and its end are not carried out") {
  const BlowfishServer server(2);
  RespClient client(server.port());
  REQUIRE(client.Do({"SET", "k", "before"}) == "+OK");
  const std::string end = GENERATE(as<std::string>(), "EXEC", "exec", "DISCARD", "RESET");
  const bool one_batch = GENERATE(true, false);
  CAPTURE(end, one_batch);
  const std::vector<std::vector<std::string>> inside = {{"SET", "k", "after"},
                                                        {"MSET", "a", "1", "b", "2"},
                                                        {"DEL", "k"},
                                                        {"FLUSHALL"},
                                                        {"MULTI"},
                                                        {"WATCH", "k"},
                                                        {"GET", "k"},
                                                        {"STOUT.WRITE", "0", "", "1"},
                                                        {"NOSUCH"},
                                                        {"HELLO", "3"},
                                                        {"CLIENT", "SETNAME", "inside"},
                                                        {"SHUTDOWN"},
                                                        {end, "argument"},
                                                        {"SET", "k", "after a wrong EXEC"},
                                                        {"AUTH", "p"}};
  client.Queue({"multi"});
  std::vector<std::string> replies;
  if (!one_batch) replies.push_back(client.Receive());
  for (const auto& command : inside) {
    client.Queue(command);
    if (!one_batch) replies.push_back(client.Receive());
  }
  client.Queue({end});
  while (replies.size() < inside.size() + 2) replies.push_back(client.Receive());
  CHECK(replies.front() == "+OK");
  for (std::size_t i = 1; i <= inside.size(); ++i) CHECK_THAT(replies[i], StartsWith("-ERR "));
  CHECK_THAT(replies[1], Contains("pipeline(transaction=False)"));
  if (end == "DISCARD" || end == "RESET") {
    CHECK(replies.back() == (end == "RESET" ? "+RESET" : "+OK"));
  } else {
    CHECK_THAT(replies.back(), StartsWith("-EXECABORT "));
  }
  // It has ended, and nothing was done.
  CHECK(client.Do({"GET", "k"}) == "$before");
  CHECK(client.Do({"DBSIZE"}) == ":1");
  CHECK(client.Do({"CLIENT", "GETNAME"}) == "(nil)");
  CHECK(client.Do({"SET", "k", "later"}) == "+OK");
}

TEST_CASE("a transaction's commands outside of one get Redis's errors") {
  const BlowfishServer server(1, {});
  RespClient client(server.port());
  CHECK(client.Do({"EXEC"}) == "-ERR EXEC without MULTI");
  CHECK(client.Do({"DISCARD"}) == "-ERR DISCARD without MULTI");
  CHECK_THAT(client.Do({"WATCH", "k"}), StartsWith("-ERR WATCH is not supported"));
  CHECK(client.Do({"SET", "k", "v"}) == "+OK");  // WATCH begins no transaction.
  // Its sender does not believe to be in a transaction, and so is not.
  CHECK_THAT(client.Do({"MULTI", "x"}), Contains("wrong number of arguments for 'multi'"));
  CHECK(client.Do({"SET", "k", "v"}) == "+OK");
  CHECK(client.Do({"MULTI"}) == "+OK");
  CHECK(client.Do({"MULTI"}) == "-ERR MULTI calls can not be nested");
  CHECK_THAT(client.Do({"EXEC", "x"}), Contains("wrong number of arguments for 'exec'"));
  CHECK_THAT(client.Do({"DISCARD", "x"}), Contains("wrong number of arguments for 'discard'"));
  CHECK_THAT(client.Do({"SET", "k", "inside"}), StartsWith("-ERR "));
  CHECK(client.Do({"QUIT"}) == "+OK");
  RespClient other(server.port());  // The state is a connection's.
  CHECK(other.Do({"GET", "k"}) == "$v");
}

TEST_CASE("commands behind FLUSHALL in a pipeline happen after it") {
  const BlowfishServer server(1, kRestless);
  RespClient client(server.port());
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 5000; ++i) client.Queue({"SET", std::to_string(i), "v"});
    for (int i = 0; i < 5000; ++i) REQUIRE(client.Receive() == "+OK");
    client.Queue({"FLUSHALL"});
    client.Queue({"SET", "zzz", "new"});
    client.Queue({"SETNX", "9", "new"});
    client.Queue({"DEL", "8"});
    CHECK(client.Receive() == "+OK");
    CHECK(client.Receive() == "+OK");
    CHECK(client.Receive() == ":1");
    CHECK(client.Receive() == ":0");
    CHECK(client.Do({"MGET", "zzz", "9"}) == "[$new, $new]");
    CHECK(client.Do({"DBSIZE"}) == ":2");
  }
  CHECK(client.Do({"FLUSHALL", "SOMETIME"}) == "-ERR syntax error");
  CHECK(client.Do({"FLUSHALL", "ASYNC"}) == "+OK");
}

TEST_CASE("clients race to set a missing key, and one of them succeeds") {
  const BlowfishServer server(2, kRestless);
  constexpr int kKeys = 100;
  std::vector<std::future<int>> racers;
  for (int i = 0; i < 4; ++i) {
    racers.push_back(std::async(std::launch::async, [&server, i] {
      RespClient client(server.port());
      int won = 0;
      for (int k = 0; k < kKeys; ++k) client.Queue({"SETNX", std::to_string(k), std::to_string(i)});
      for (int k = 0; k < kKeys; ++k) won += client.Receive() == ":1";
      return won;
    }));
  }
  int won = 0;
  for (auto& racer : racers) won += racer.get();
  CHECK(won == kKeys);
}

TEST_CASE("a scan with stamps goes through a shard, tombstones included") {
  const BlowfishServer server(1, kRestless);
  RespClient client(server.port());
  const auto page = [&](std::vector<std::string> words) {
    const std::string reply = client.Do(words);
    return reply.substr(std::min(reply.size(), reply.find(' ') + 1));
  };
  CHECK(page({"STOUT.SCAN", "0", "10", "VALUES"}) == "[:0]]");
  client.Do(
      {"STOUT.WRITE", "0", "s", "5", "PUT", "a", "1", "A", "PUT", "c", "2", "", "DEL", "b", "3"});
  CHECK(page({"STOUT.SCAN", "0", "10", "VALUES"}) ==
        "[:0, $a, [:5, :1, $A], $b, [:5, :3, (nil)], $c, [:5, :2, $]]]");
  CHECK(page({"stout.scan", "0", "2", "stamps"}) == "[:1, $a, [:5, :1, $], $b, [:5, :3, (nil)]]]");
  CHECK(page({"STOUT.SCAN", "0", "2", "STAMPS", "AFTER", "b"}) == "[:0, $c, [:5, :2, $]]]");
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"STOUT.SCAN"},
                                             {"STOUT.SCAN", "0", "1"},
                                             {"STOUT.SCAN", "0", "0", "VALUES"},
                                             {"STOUT.SCAN", "0", "-1", "VALUES"},
                                             {"STOUT.SCAN", "0", "1", "KEYS"},
                                             {"STOUT.SCAN", "0", "1", "VALUES", "AFTER"},
                                             {"STOUT.SCAN", "0", "1", "VALUES", "FROM", "a"}}) {
    CHECK_THAT(client.Do(wrong), StartsWith("-ERR STOUT.SCAN shard limit"));
  }
  CHECK_THAT(client.Do({"STOUT.SCAN", "1", "1", "VALUES"}), StartsWith("-ERR no such shard"));
}

TEST_CASE("stamps decide, fences shut out, epochs grow") {
  const BlowfishServer server(1, kRestless);
  RespClient client(server.port());
  const auto write = [&](const std::string& epoch, const std::string& version,
                         const std::string& value) {
    return client.Do({"STOUT.WRITE", "0", "scope", epoch, "PUT", "k", version, value});
  };
  const auto outcome = [](const std::string& reply) { return reply.substr(reply.find('+')); };
  CHECK(client.Do({"STOUT.READ", "0", "k"}).ends_with("(nil)]"));
  CHECK(outcome(write("5", "2", "new")) == "+OK]");
  CHECK(outcome(write("5", "1", "overtaken")) == "+OK]");
  CHECK(outcome(write("4", "9", "of before")).find("FENCED") != std::string::npos);
  CHECK(client.Do({"STOUT.READ", "0", "k"}).ends_with("[:5, :2, $new]]"));
  CHECK(client.Do({"STOUT.STAMPS", "0", "k", "none"}).ends_with("[:5, :2, $], (nil)]"));
  CHECK(outcome(client.Do({"STOUT.FENCE", "scope", "7"})) == "+OK]");
  CHECK(outcome(client.Do({"STOUT.FENCE", "scope", "6"})) == "+FENCED]");
  CHECK(outcome(write("6", "9", "shut out")).find("FENCED") != std::string::npos);
  CHECK(client.Do({"STOUT.EPOCH"}).ends_with(":8]"));
  CHECK(outcome(client.Do({"STOUT.WRITE", "0", "scope", "8", "DEL", "k", "1"})) == "+OK]");
  for (const char* const read : {"STOUT.READ", "STOUT.STAMPS"})
    CHECK(client.Do({read, "0", "k"}).ends_with("[:8, :1, (nil)]]"));
  CHECK(client.Do({"GET", "k"}) == "(nil)");
  CHECK_THAT(client.Do({"STOUT.WRITE", "0", "s", "1", "PUT", "k", "1"}), StartsWith("-ERR"));
  CHECK_THAT(client.Do({"STOUT.WRITE", "9", "s", "1"}), StartsWith("-ERR no such shard"));
  // A reply has no room for it.
  const std::string most = std::to_string(resp::kMaxStamp + 1);
  CHECK_THAT(client.Do({"STOUT.WRITE", "0", "s", most, "DEL", "k", "1"}), StartsWith("-ERR"));
  CHECK_THAT(client.Do({"STOUT.WRITE", "0", "s", "9", "DEL", "k", most}), StartsWith("-ERR"));
  CHECK_THAT(client.Do({"STOUT.FENCE", "s", most}), StartsWith("-ERR"));
  CHECK_THAT(client.Do({"STOUT.FENCE", "s", "-1"}), StartsWith("-ERR"));
  CHECK_THAT(client.Do({"STOUT.WRITE", "0", "s", "1", "PUT", "k", "1", "v", "DEL", "k", "2"}),
             Contains("appears twice"));
}

TEST_CASE("after the largest fence or write that a server takes, epochs go on") {
  const BlowfishServer server(2);
  RespClient client(server.port());
  const std::string most = std::to_string(resp::kMaxStamp);
  CHECK(client.Do({"STOUT.FENCE", "s", most}).ends_with("+REFUSED]"));
  CHECK(client.Do({"STOUT.WRITE", "0", "s", most}).ends_with("+REFUSED]"));
  constexpr Epoch kJump = Epoch{1} << 62;
  CHECK(client.Do({"STOUT.FENCE", "s", std::to_string(kJump + 1)}).ends_with("+REFUSED]"));
  const std::string jump = std::to_string(kJump);
  if (GENERATE(false, true)) {
    CHECK(client.Do({"STOUT.FENCE", "s", jump}).ends_with("+OK]"));
  } else {
    CHECK(client.Do({"STOUT.WRITE", "0", "s", jump}).ends_with("+OK]"));
  }
  for (int i = 0; i < 2; ++i) {
    const std::string next = std::to_string(kJump + 1 + i);
    CHECK(client.Do({"STOUT.EPOCH"}).ends_with(":" + next + "]"));
    for (const std::string shard : {"0", "1"})
      CHECK(client.Do({"STOUT.WRITE", shard, "s", next}).ends_with("+OK]"));
  }
}

TEST_CASE("a plain write after the largest version has a stamp that a client may name") {
  const BlowfishServer server(1);
  RespClient client(server.port());
  const std::string most = std::to_string(resp::kMaxStamp);
  CHECK(client.Do({"STOUT.WRITE", "0", "s", "7", "PUT", "k", most, "v"}).ends_with("+OK]"));
  CHECK(client.Do({"SET", "k", "w"}) == "+OK");
  CHECK(client.Do({"STOUT.READ", "0", "k"}).ends_with("[:8, :1, $w]]"));
}

TEST_CASE("plain writes of a key with the largest stamp are refused, and others are not") {
  const BlowfishServer server(1);
  RespClient client(server.port());
  const std::string most = std::to_string(resp::kMaxStamp);
  const std::string half = std::to_string(Epoch{1} << 62);  // An epoch may not be further ahead.
  CHECK(client.Do({"STOUT.WRITE", "0", "", half, "PUT", "k", "1", "v"}).ends_with("+OK]"));
  CHECK(client.Do({"STOUT.WRITE", "0", "", most, "PUT", "k", most, "v"}).ends_with("+OK]"));
  CHECK(client.Do({"SET", "other", "v"}) == "+OK");
  using Command = std::vector<std::string>;
  for (const Command& command : {Command{"SET", "k", "w"},
                                 {"GETSET", "k", "w"},
                                 {"MSET", "other", "w", "k", "w"},
                                 {"DEL", "k"},
                                 {"FLUSHALL"}}) {
    CAPTURE(command.front());
    CHECK_THAT(client.Do(command), StartsWith("-ERR a key has the last version"));
  }
  CHECK(client.Do({"STOUT.READ", "0", "k"}).ends_with("[:" + most + ", :" + most + ", $v]]"));
  CHECK(client.Do({"SET", "other", "w"}) == "+OK");
  CHECK(client.Do({"GET", "other"}) == "$w");
}

TEST_CASE("an epoch does not wait for a long command before another epoch in its pipeline") {
  const BlowfishServer server(2);
  RespClient client(server.port());
  RespClient other(server.port());
  const auto keys = [&other] { return std::stoi(other.Do({"DBSIZE"}).substr(1)); };
  // The long command may end before the other client's epoch by chance, but not each time.
  bool seen = false;
  for (int round = 0; round < 20 && !seen; ++round) {
    for (int first = 0; first < 100'000; first += 10'000) {
      std::vector<std::string> mset = {"MSET"};
      for (int i = first; i < first + 10'000; ++i)
        mset.insert(mset.end(), {std::to_string(i), "v"});
      REQUIRE(client.Do(mset) == "+OK");
    }
    client.Send("FLUSHALL\r\nSTOUT.EPOCH\r\n");
    while (keys() == 100'000) continue;
    CHECK_THAT(other.Do({"STOUT.EPOCH"}), StartsWith("[:"));
    seen = keys() > 0;
    CHECK(client.Receive() == "+OK");
    CHECK_THAT(client.Receive(), StartsWith("[:"));
  }
  CHECK(seen);
}

TEST_CASE("epochs that are asked for at the same time differ") {
  const BlowfishServer server(3, kRestless);
  std::vector<std::future<std::vector<std::string>>> askers;
  for (int i = 0; i < 4; ++i) {
    askers.push_back(std::async(std::launch::async, [&server] {
      RespClient client(server.port());
      std::vector<std::string> epochs;
      for (int k = 0; k < 25; ++k) {
        const std::string reply = client.Do({"STOUT.EPOCH"});
        epochs.push_back(reply.substr(reply.find(", ")));
      }
      return epochs;
    }));
  }
  std::vector<std::string> all;
  for (auto& asker : askers) {
    const auto epochs = asker.get();
    all.insert(all.end(), epochs.begin(), epochs.end());
  }
  std::ranges::sort(all);
  CHECK(std::ranges::adjacent_find(all) == all.end());
}

}  // namespace
}  // namespace stout::blowfish
