// The extensions of the shard server beyond redis, and its refusals, as a client sees them.

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stout/core/random.h"
#include "tests/support/blowfish_server.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/http_client.h"
#include "tests/support/process.h"
#include "tests/support/resp_client.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

namespace asio = boost::asio;
using Catch::Contains;
using Catch::StartsWith;
using test::BlowfishServer;
using test::Eventually;
using test::HttpClient;
using test::HttpReply;
using test::RespClient;
using test::RunToEnd;
using test::TempDirectory;

const std::vector<std::string> kRestless = {"--freeze-bytes", "16KB", "--merge-bytes", "64KB"};

std::vector<std::string> With(std::vector<std::string> settings, std::vector<std::string> more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

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
  for (int round = 0; round < 6; ++round) {
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

TEST_CASE("what follows FLUSHALL in a pipeline happens after it") {
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

TEST_CASE("of clients that race to set a key where there is none, one succeeds") {
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
  CHECK(outcome(client.Do({"STOUT.FENCE", "scope", "7"})) == "+OK]");
  CHECK(outcome(client.Do({"STOUT.FENCE", "scope", "6"})) == "+FENCED]");
  CHECK(outcome(write("6", "9", "shut out")).find("FENCED") != std::string::npos);
  CHECK(client.Do({"STOUT.EPOCH"}).ends_with(":8]"));
  CHECK(outcome(client.Do({"STOUT.WRITE", "0", "scope", "8", "DEL", "k", "1"})) == "+OK]");
  CHECK(client.Do({"STOUT.READ", "0", "k"}).ends_with("[:8, :1, (nil)]]"));
  CHECK(client.Do({"GET", "k"}) == "(nil)");
  CHECK_THAT(client.Do({"STOUT.WRITE", "0", "s", "1", "PUT", "k", "1"}), StartsWith("-ERR"));
  CHECK_THAT(client.Do({"STOUT.WRITE", "9", "s", "1"}), StartsWith("-ERR no such shard"));
  // Whose successor nobody could name.
  const std::string most = std::to_string(INT64_MAX) + "0";
  CHECK_THAT(client.Do({"STOUT.WRITE", "0", "s", most, "DEL", "k", "1"}), StartsWith("-ERR"));
  CHECK_THAT(client.Do({"STOUT.WRITE", "0", "s", "9", "DEL", "k", most}), StartsWith("-ERR"));
  CHECK_THAT(client.Do({"STOUT.FENCE", "s", most}), StartsWith("-ERR"));
  CHECK_THAT(client.Do({"STOUT.FENCE", "s", "-1"}), StartsWith("-ERR"));
  CHECK_THAT(client.Do({"STOUT.WRITE", "0", "s", "1", "PUT", "k", "1", "v", "DEL", "k", "2"}),
             Contains("appears twice"));
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

TEST_CASE("layers come and go while clients read") {
  const BlowfishServer server(1, With(kRestless, {"--attributes", "a,b,c,d,e,f,g,h,i,j"}));
  RespClient client(server.port());
  for (int i = 0; i < 3000; ++i) {
    client.Queue({"SET", std::to_string(i), "1|2|3|" + std::to_string(i % 7) + "|5|6|7|8|9|0"});
  }
  for (int i = 0; i < 3000; ++i) REQUIRE(client.Receive() == "+OK");
  REQUIRE(Eventually([&] {
    return client.Do({"INFO", "persistence"}).find("merges:0") == std::string::npos;
  }));
  CHECK_THAT(client.Do({"LAYERS", "0", "SET", "3"}), StartsWith("[$layers, :3"));
  for (int layers = 0; layers < 4; ++layers) {
    client.Queue({"LAYERS", "0", "SET", std::to_string(layers)});
    client.Queue({"SEARCH", "d", "3", "COUNT"});
    client.Queue({"GET", "77"});
    CHECK_THAT(client.Receive(), StartsWith("[$layers, :" + std::to_string(layers)));
    CHECK(client.Receive() == ":429");
    CHECK(client.Receive() == "$1|2|3|0|5|6|7|8|9|0");
  }
  // They are filled when there is no other work.
  CHECK(Eventually([&] {
    return client.Do({"INFO", "shards"}).find("filling=0") != std::string::npos;
  }));
  CHECK(client.Do({"LAYERS", "1"}) == "-ERR no such shard; they are numbered from 0 to 0");
}

TEST_CASE("a shard that is busy with texts in blocks gets layers, and answers right") {
  const BlowfishServer server(1, kRestless);
  RespClient client(server.port());
  constexpr std::size_t kTexts = 60;
  std::vector<std::string> texts;
  SplitMix64 random(1);
  for (std::size_t i = 0; i < kTexts; ++i) {
    // zstd halves it, and an index does not.
    texts.emplace_back();
    while (texts.back().size() < 100'000 + i) texts.back() += "0123456789abcdef"[random.Below(16)];
    CHECK(client.Do({"SET", "text" + std::to_string(i), texts.back()}) == "+OK");
  }
  REQUIRE(Eventually([&] {
    return client.Do({"LAYERS", "0", "SET", "1"}).starts_with("[$layers, :1");
  }));
  CHECK_THAT(client.Do({"LAYERS", "0", "SET", "0"}), StartsWith("[$layers, :0, $bytes, :0"));
  // Each text is unpacked for its length, which is a short reply, so that the shard has most of the
  // work.
  CHECK(Eventually([&] {
    for (int round = 0; round < 20; ++round) {
      for (std::size_t i = 0; i < kTexts; ++i) client.Queue({"STRLEN", "text" + std::to_string(i)});
      for (std::size_t i = 0; i < kTexts; ++i)
        REQUIRE(client.Receive() == ":" + std::to_string(100'000 + i));
    }
    return client.Do({"INFO", "navigation"}).find("layers_added:0") == std::string::npos;
  }));
  for (int layers = 3; layers >= 0; --layers) {
    client.Queue({"LAYERS", "0", "SET", std::to_string(layers)});
    for (std::size_t i = 0; i < kTexts; ++i) client.Queue({"GET", "text" + std::to_string(i)});
    client.Queue({"GREP", texts[7].substr(50'000, 20)});
    CHECK_THAT(client.Receive(), StartsWith("[$layers, :"));
    for (const std::string& text : texts) CHECK(client.Receive() == "$" + text);
    CHECK(client.Receive() == "[$text7]");
  }
}

TEST_CASE("layers survive the death of the server") {
  BlowfishServer server(2, With(kRestless, {"--attributes", "a,b,c,d"}));
  {
    RespClient client(server.port());
    for (int i = 0; i < 6000; ++i)
      client.Queue({"SET", std::to_string(i), "1|2|" + std::to_string(i % 7) + "|4"});
    for (int i = 0; i < 6000; ++i) REQUIRE(client.Receive() == "+OK");
    for (const std::string shard : {"0", "1"}) {
      const std::string layers = shard == "0" ? "3" : "1";
      REQUIRE(Eventually([&] {
        return client.Do({"LAYERS", shard, "SET", layers}).starts_with("[$layers, :" + layers);
      }));
    }
    // It is written down behind the reply, and before the next one.
    CHECK_THAT(client.Do({"SEARCH", "c", "3", "COUNT"}), StartsWith(":"));
  }
  server.Kill();
  server.Start();
  RespClient client(server.port());
  CHECK_THAT(client.Do({"LAYERS", "0"}), StartsWith("[$layers, :3"));
  CHECK_THAT(client.Do({"LAYERS", "1"}), StartsWith("[$layers, :1"));
  CHECK(client.Do({"SEARCH", "c", "3", "COUNT"}) == ":857");
  CHECK(Eventually([&] {
    return client.Do({"INFO", "shards"}).find("filling=1") == std::string::npos;
  }));
}

TEST_CASE("INFO tells how many shards may merge, and how many do") {
  const BlowfishServer server(4, With(kRestless, {"--merges", "2"}));
  RespClient client(server.port());
  CHECK_THAT(client.Do({"INFO", "persistence"}), Contains("merges_at_once:2\r\n"));
  for (int i = 0; i < 5000; ++i) client.Queue({"SET", std::to_string(i), std::string(50, 'x')});
  for (int i = 0; i < 5000; ++i) REQUIRE(client.Receive() == "+OK");
  CHECK(Eventually([&] {
    const std::string info = client.Do({"INFO", "persistence"});
    return info.find("merges:0\r") == std::string::npos &&
           info.find("merges_running:0\r\nmerges_waiting:0\r\nmerge_memory_estimate:0\r") !=
               std::string::npos;
  }));
}

TEST_CASE("INFO tells calls, errors, latencies and keys in redis's form") {
  BlowfishServer server(2);
  {
    RespClient client(server.port());
    for (int i = 0; i < 100; ++i) client.Queue({"SET", std::to_string(i), "v"});
    for (int i = 0; i < 100; ++i) REQUIRE(client.Receive() == "+OK");
    REQUIRE(client.Do({"GET", "1"}) == "$v");
    REQUIRE_THAT(client.Do({"GET"}), StartsWith("-ERR wrong number"));
    REQUIRE_THAT(client.Do({"SET", "1", "v", "EX", "0"}), StartsWith("-ERR invalid expire"));
    REQUIRE_THAT(client.Do({"CLIENT", "LIST"}), Contains("id="));
    REQUIRE_THAT(client.Do({"NOSUCH"}), StartsWith("-ERR unknown"));
    const auto is = [&](const std::string& section, const std::string& line) {
      return std::regex_search(client.Do({"INFO", section}), std::regex(line + "\r\n"));
    };
    const std::string time = "usec=[0-9]+,usec_per_call=[0-9]+\\.[0-9]{2},";
    CHECK(is("commandstats", "cmdstat_get:calls=1," + time + "rejected_calls=1,failed_calls=0"));
    CHECK(is("commandstats", "cmdstat_set:calls=101," + time + "rejected_calls=0,failed_calls=1"));
    CHECK(is("commandstats",
             "cmdstat_client\\|list:calls=1," + time + "rejected_calls=0,failed_calls=0"));
    CHECK(is("errorstats", "errorstat_ERR:count=3"));
    CHECK(is("stats", "total_error_replies:3"));
    const std::string number = "[0-9]+\\.[0-9]{3}";
    CHECK(is("latencystats",
             "latency_percentiles_usec_set:p50=" + number + ",p99=" + number + ",p99.9=" + number));
    CHECK(Eventually([&] { return is("keyspace", "db0:keys=100,expires=0,avg_ttl=0"); }));

    // As redis: only by name, or with all others.
    for (const std::string all : {"all", "everything"}) {
      CHECK_THAT(client.Do({"INFO", all}), Contains("cmdstat_") && Contains("_usec_set:"));
    }
    CHECK_THAT(client.Do({"INFO"}), !Contains("cmdstat_") && !Contains("_usec_") &&
                                        Contains("errorstat_") && Contains("db0:"));
    CHECK(client.Do({"INFO", "default", "latencystats"}).find("cmdstat_") == std::string::npos);

    REQUIRE(client.Do({"CONFIG", "RESETSTAT"}) == "+OK");
    CHECK_THAT(client.Do({"INFO", "commandstats"}), !Contains("cmdstat_set"));
    CHECK_THAT(client.Do({"INFO", "errorstats", "latencystats"}),
               !Contains("errorstat_") && !Contains("_usec_set"));
  }
  server.Kill();
  server.Start();
  RespClient client(server.port());
  CHECK_THAT(client.Do({"INFO", "keyspace"}), Contains("db0:keys=100,"));
  REQUIRE(client.Do({"FLUSHALL"}) == "+OK");
  CHECK(Eventually([&] { return client.Do({"INFO", "keyspace"}) == "$# Keyspace\r\n"; }));
}

TEST_CASE("who does not know the password is not let in") {
  const TempDirectory directory;
  const std::string file = directory.path() + "/password";
  std::ofstream(file) << "secret\n";
  const BlowfishServer server(1, {"--password-file", file});
  RespClient client(server.port());
  CHECK(client.Do({"GET", "k"}) == "-NOAUTH Authentication required.");
  CHECK(client.Do({"CLIENT", "HELP"}) == "-NOAUTH Authentication required.");
  CHECK_THAT(client.Do({"HELLO", "3"}), StartsWith("-NOAUTH HELLO"));
  CHECK_THAT(client.Do({"AUTH", "guess"}), StartsWith("-WRONGPASS"));
  CHECK_THAT(client.Do({"AUTH", "somebody", "secret"}), StartsWith("-WRONGPASS"));
  // In one pipeline: what follows sees it.
  client.Queue({"AUTH", "default", "secret"});
  client.Queue({"SET", "k", "v"});
  CHECK(client.Receive() == "+OK");
  CHECK(client.Receive() == "+OK");
  RespClient other(server.port());
  CHECK_THAT(other.Do({"HELLO", "3", "AUTH", "default", "secret", "SETNAME", "me"}),
             StartsWith("{$server"));
  CHECK(other.Do({"CLIENT", "GETNAME"}) == "$me");
  CHECK_THAT(other.Do({"INFO", "commandstats"}), Contains("cmdstat_get:calls=0,usec=0,usec_per_call"
                                                          "=0.00,rejected_calls=1,failed_calls=0"));
}

TEST_CASE("what is too much is refused, and others are served") {
  const BlowfishServer server(1, {"--max-clients", "3", "--max-value", "4KB", "--max-request",
                                  "8KB", "--max-replies", "100KB"});
  RespClient client(server.port());
  CHECK(client.Do({"PING"}) == "+PONG");
  {
    RespClient large(server.port());
    CHECK_THAT(large.Do({"SET", "k", std::string(5000, 'x')}),
               Contains("at most 4096 bytes, see --max-value"));
    CHECK_THROWS_AS(large.Do({"PING"}), std::runtime_error);
  }
  {
    RespClient rubbish(server.port());
    rubbish.Send("*1\r\n!what\r\n");
    CHECK_THAT(rubbish.Receive(), Contains("expected '$', got '!'"));
    CHECK_THROWS_AS(rubbish.Do({"PING"}), std::runtime_error);
  }
  REQUIRE(client.Do({"SET", "k", std::string(4000, 'x')}) == "+OK");
  {
    RespClient greedy(server.port());
    for (int i = 0; i < 100; ++i) greedy.Queue({"GET", "k"});
    for (int i = 0; i < 25; ++i) CHECK(greedy.Receive().size() == 4001);
    CHECK_THAT(greedy.Receive(), StartsWith("-ERR the replies are larger than --max-replies"));
    RespClient sly(server.port());
    for (int i = 0; i < 100; ++i) sly.Queue({"SET", "k", "v", "NX", "GET"});
    for (int i = 0; i < 25; ++i) CHECK(sly.Receive().size() == 4001);
    CHECK_THAT(sly.Receive(), StartsWith("-ERR the replies are larger than --max-replies"));
  }
  REQUIRE(Eventually([&] {
    return client.Do({"INFO", "clients"}).find("connected_clients:1") != std::string::npos;
  }));
  RespClient second(server.port());
  CHECK(second.Do({"PING"}) == "+PONG");
  RespClient third(server.port());
  CHECK(third.Do({"PING"}) == "+PONG");
  RespClient fourth(server.port());
  CHECK_THAT(fourth.Receive(), Contains("max number of clients"));
  // The server accepts the largest batch that it announces to adapters.
  CHECK_THAT(client.Do({"STOUT.SHARDS"}),
             Contains("$max-batch-items, :12, $max-batch-bytes, :6144"));
}

// Goal: what --max-value promises is kept by all limits behind it. Method: values of just that
// size, and of a byte more, by each command that writes, with small and large options. The long
// form adds the largest option, STOUT_MAX_VALUE=256MiB, which takes seconds and gigabytes.
TEST_CASE("a value of --max-value is written and read, and a larger one is refused by its name",
          "[long]") {
  std::vector<std::string> options = {"1KiB", "1MiB", "64MiB"};
  if (const char* const more = std::getenv("STOUT_MAX_VALUE")) options.emplace_back(more);
  for (const std::string& option : options) {
    CAPTURE(option);
    const std::size_t most = std::stoul(option) << (option.ends_with("KiB") ? 10 : 20);
    // Without merges, which take longer than the rest; see the next test.
    BlowfishServer server(2, {"--max-value", option, "--merge-bytes", "64GiB"});
    const std::string size = std::to_string(most);
    const std::string value(most, 'v');
    {
      RespClient client(server.port());
      CHECK_THAT(client.Do({"CONFIG", "GET", "max-value"}), Contains("$" + size + "]"));
      CHECK_THAT(client.Do({"STOUT.SHARDS"}), Contains("$max-value, :" + size));
      CHECK(client.Do({"SET", "set", value}) == "+OK");
      CHECK((client.Do({"GET", "set"}) == "$" + value));  // a failure is not to print it
      CHECK(client.Do({"STRLEN", "set"}) == ":" + size);
      if (most <= 1 << 20) {
        CHECK(client.Do({"SETNX", "setnx", value}) == ":1");
        CHECK((client.Do({"GETSET", "setnx", value}) == "$" + value));
        CHECK(client.Do({"MSET", "mset", value, "b", value}) == "+OK");
        CHECK((client.Do({"GET", "mset"}) == "$" + value));
      }
      // The head of a larger one is enough: more may not be taken.
      for (const std::string command : {"SET", "SETNX", "GETSET", "MSET"}) {
        CAPTURE(command);
        RespClient other(server.port());
        other.Send("*3\r\n$" + std::to_string(command.size()) + "\r\n" + command +
                   "\r\n$5\r\nlarge\r\n$" + std::to_string(most + 1) + "\r\n");
        CHECK(other.Receive() == "-ERR Protocol error: invalid bulk length: at most " + size +
                                     " bytes, see --max-value");
      }
      CHECK(client.Do({"EXISTS", "large"}) == ":0");
    }
    server.Kill();
    server.Start();
    RespClient client(server.port());
    CHECK((client.Do({"GET", "set"}) == "$" + value));
  }
}

TEST_CASE("a key and a value of --max-value are written together, merged and read") {
  const BlowfishServer server(1, {"--max-value", "1MiB", "--merge-bytes", "1MiB"});
  RespClient client(server.port());
  const std::string key(1 << 20, 'k');
  SplitMix64 random(3);
  std::string value(1 << 20, ' ');
  for (char& c : value) c = static_cast<char>('a' + random.Below(26));
  CHECK(client.Do({"SET", key, value}) == "+OK");
  CHECK(Eventually([&] {
    return client.Do({"INFO", "persistence"}).find("merges:0\r") == std::string::npos;
  }));
  CHECK((client.Do({"GET", key}) == "$" + value));
  CHECK(client.Do({"SET", "key", "after"}) == "+OK");
}

TEST_CASE("a client that takes no replies is cut off") {
  const BlowfishServer server(1, {"--write-timeout", "0.2"});
  RespClient client(server.port());
  REQUIRE(client.Do({"SET", "k", std::string(1 << 20, 'x')}) == "+OK");
  RespClient sleeper(server.port());
  std::string gets;
  for (int i = 0; i < 64; ++i) gets += "GET k\r\n";
  sleeper.Send(gets);
  CHECK(Eventually([&] {
    return client.Do({"INFO", "clients"}).find("slow_readers_cut_off:1") != std::string::npos;
  }));
}

TEST_CASE("a client that takes its replies a bit at a time is cut off") {
  const BlowfishServer server(1, {"--write-timeout", "1", "--min-read-rate", "1GB"});
  RespClient client(server.port());
  REQUIRE(client.Do({"SET", "k", std::string(1 << 20, 'x')}) == "+OK");
  asio::io_context context;
  asio::ip::tcp::socket sleepy(context);
  sleepy.connect({asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(server.port())});
  std::string gets;
  for (int i = 0; i < 64; ++i) gets += "GET k\r\n";
  asio::write(sleepy, asio::buffer(gets));
  std::string bit(16 << 10, '\0');
  CHECK(Eventually([&] {
    boost::system::error_code gone;
    sleepy.read_some(asio::buffer(bit), gone);
    return gone || client.Do({"INFO", "clients"}).find("cut_off:1") != std::string::npos;
  }));
  CHECK_THAT(client.Do({"INFO", "clients"}), Contains("slow_readers_cut_off:1"));
}

TEST_CASE("who is still sending gets the last reply") {
  const BlowfishServer server(1, {"--max-clients", "2"});
  const std::string more(8 << 20, 'x');  // dropped within a second, also on a busy machine
  RespClient client(server.port());
  const auto is_alone = [&] {
    return client.Do({"INFO", "clients"}).find("connected_clients:1\r") != std::string::npos;
  };
  {
    RespClient rubbish(server.port());
    rubbish.Send("*1\r\n!what\r\n" + more);
    CHECK_THAT(rubbish.Receive(), Contains("expected '$', got '!'"));
    CHECK_THROWS_AS(rubbish.Receive(), std::runtime_error);
  }
  REQUIRE(Eventually(is_alone));
  {
    RespClient leaving(server.port());
    leaving.Send("QUIT\r\n" + more);
    CHECK(leaving.Receive() == "+OK");
    // One that goes on sending is not listened to for ever.
    CHECK(Eventually([&] {
      try {
        leaving.Send("more");
        return false;
      } catch (const std::exception&) {
        return true;
      }
    }));
  }
  REQUIRE(Eventually(is_alone));
  RespClient second(server.port());
  CHECK(second.Do({"PING"}) == "+PONG");
  RespClient third(server.port());
  third.Send(more);
  CHECK_THAT(third.Receive(), Contains("max number of clients"));
}

TEST_CASE("a server that has no file left for a client takes it when there is one") {
  const BlowfishServer server(1);
  RespClient client(server.port());
  const std::string info = client.Do({"INFO", "server"});
  const int pid = std::stoi(info.substr(info.find("process_id:") + 11));
  rlimit before = {};
  REQUIRE(::prlimit(pid, RLIMIT_NOFILE, nullptr, &before) == 0);
  const rlimit none = {.rlim_cur = 3, .rlim_max = before.rlim_max};
  REQUIRE(::prlimit(pid, RLIMIT_NOFILE, &none, nullptr) == 0);
  RespClient other(server.port());  // The system has its connection, the server has not.
  const auto told = [&] {
    const std::string log = server.Log();
    const std::string_view what = "cannot accept clients";
    const auto first = log.find(what);
    return std::pair(first != std::string::npos, first != log.rfind(what));
  };
  REQUIRE(Eventually([&] { return told().first; }));
  CHECK(client.Do({"PING"}) == "+PONG");
  REQUIRE(::prlimit(pid, RLIMIT_NOFILE, &before, nullptr) == 0);
  CHECK(other.Do({"PING"}) == "+PONG");
  CHECK_FALSE(told().second);
}

TEST_CASE("SHUTDOWN writes the replies that are due") {
  BlowfishServer server(2);
  RespClient client(server.port());
  for (int i = 0; i < 100; ++i) client.Queue({"SET", std::to_string(i), "v"});
  client.Queue({"SHUTDOWN"});
  for (int i = 0; i < 100; ++i) CHECK(client.Receive() == "+OK");
  CHECK_THROWS_AS(client.Receive(), std::runtime_error);
  REQUIRE(Eventually([&] { return !server.Up(); }));
  server.Start();
  CHECK(RespClient(server.port()).Do({"DBSIZE"}) == ":100");
}

TEST_CASE("a second signal ends the server though a client takes no replies") {
  BlowfishServer server(1);
  RespClient client(server.port());
  REQUIRE(client.Do({"SET", "k", std::string(1 << 20, 'x')}) == "+OK");
  std::string gets;
  for (int i = 0; i < 64; ++i) gets += "GET k\r\n";
  client.Send(gets);
  RespClient other(server.port());
  // By then it is being written to.
  REQUIRE(Eventually([&] {
    return other.Do({"INFO", "stats"}).find("total_net_output_bytes:0\r") == std::string::npos;
  }));
  server.Signal(SIGINT);
  CHECK_THROWS_AS(other.Receive(), std::runtime_error);
  REQUIRE(server.Up());
  server.Signal(SIGTERM);
  CHECK(Eventually([&] { return !server.Up(); }));
  CHECK(server.Log().find("ERROR: ") == std::string::npos);  // a sanitizer's
}

TEST_CASE("figures are served to Prometheus") {
  const BlowfishServer server(2, {"--metrics", "127.0.0.1:0"});
  std::smatch found;
  const std::string log = server.Log();
  REQUIRE(std::regex_search(log, found, std::regex("metrics at port ([0-9]+)")));
  HttpClient client(static_cast<std::uint16_t>(std::stoi(found[1])));
  RespClient(server.port()).Do({"SET", "k", "v"});
  const HttpReply first = client.Do("GET", "/metrics");
  CHECK(first.status == 200);
  CHECK(first.Field("content-type") == "text/plain; version=0.0.4; charset=utf-8");
  CHECK_THAT(first.body, Contains("\nblowfish_shard_keys{shard=\"1\"} ") &&
                             Contains("# TYPE blowfish_connections_total counter\n") &&
                             Contains("\nblowfish_command_seconds_count{command=\"set\"} 1\n") &&
                             Contains("\nblowfish_http_connections 1\n"));
  CHECK(client.Do("HEAD", "/metrics").status == 200);
  CHECK(client.Do("GET", "/").status == 404);
  CHECK(client.Do("PUT", "/metrics", "text").Field("allow") == "GET, HEAD");
  const HttpReply last = client.Do("GET", "/metrics?x=y");
  CHECK_THAT(last.body,
             Contains("\nblowfish_http_requests_total{method=\"GET\",status=\"200\"} 1\n") &&
                 Contains("\nexposer_scrapes_total 1\n"));
}

TEST_CASE("figures are served at a port without a host") {
  const std::string port = std::to_string(test::FreePort());
  const BlowfishServer server(1, {"--metrics", port});
  HttpClient client(static_cast<std::uint16_t>(std::stoi(port)));
  CHECK(client.Do("GET", "/metrics").status == 200);
}

TEST_CASE("a start that cannot be says why") {
  const TempDirectory directory;
  const auto fails = [](std::vector<std::string> options) {
    options.insert(options.begin(), {"timeout", "20", STOUT_BLOWFISH_SERVER});
    try {
      RunToEnd(options);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string("it ended well");
  };
  const std::string path = directory.path() + "/shards";
  {
    const BlowfishServer other(2);
    const std::string taken = "127.0.0.1:" + std::to_string(other.port());
    CHECK_THAT(fails({"--dir", path, "--shards", "3", "--listen", taken}),
               Contains("cannot listen on") && Contains("--listen"));
    CHECK_THAT(fails({"--dir", path, "--listen", "127.0.0.1:0", "--metrics", taken}),
               Contains("--metrics: cannot listen on " + taken));
    // A first start that ended among its shards is none that lost the others.
    const std::string half = directory.path() + "/half";
    std::filesystem::create_directories(half);
    std::filesystem::copy(path + "/shard-0000", half + "/shard-0000",
                          std::filesystem::copy_options::recursive);
    std::ofstream(half + "/shards") << "3 new\n";
    CHECK_THAT(fails({"--dir", half, "--listen", taken}), Contains("cannot listen on"));
    CHECK(std::filesystem::exists(half + "/shard-0002/manifest"));
  }
  CHECK_THAT(fails({"--dir", path, "--shards", "4"}), Contains("has 3 shards, not 4"));
  // Otherwise it would begin again without what it had, or look for keys in other shards.
  const auto move_all = [&](const std::string& from, const std::string& to) {
    for (const std::string shard : {"0", "1", "2"})
      std::filesystem::rename(path + from + shard, path + to + shard);
  };
  move_all("/shard-000", "/lost");
  CHECK_THAT(fails({"--dir", path}), Contains("shard-0000: missing"));
  std::filesystem::create_directories(path + "/shard-0000/lost+found");
  CHECK_THAT(fails({"--dir", path}), Contains("shard-0000: missing"));
  std::filesystem::remove_all(path + "/shard-0000");
  move_all("/lost", "/shard-000");
  std::filesystem::rename(path + "/shards", path + "/lost");
  CHECK_THAT(fails({"--dir", path, "--shards", "1"}), Contains("but not " + path + "/shards"));
  std::filesystem::rename(path + "/lost", path + "/shards");
  CHECK_THAT(fails({"--dir", path, "--metrics", "nowhere", "--listen", ":0"}),
             Contains("--metrics: 'nowhere' is not HOST:PORT"));
  CHECK_THAT(fails({"--dir", path, "--memory-budget", "-1"}),
             Contains("--memory-budget: '-1' is not a size"));
  CHECK_THAT(fails({"--dir", path, "--max-value", "1"}), Contains("--max-value: must be between"));
  CHECK_THAT(fails({"--dir", path, "--max-value", "257MiB"}),
             Contains("--max-value: must be between 64 and 268435456 bytes"));
  CHECK_THAT(fails({"--dir", path, "--max-value", "1MiB", "--max-request", "1MiB"}),
             Contains("--max-request: must be between 1052672 bytes"));
  CHECK_THAT(fails({"--dir", path, "--max-value", "1MiB", "--max-replies", "1000KiB"}),
             Contains("--max-replies: must be at least --max-value, 1048576 bytes"));
  CHECK_THAT(fails({"--dir", path, "--delimiter", ","}),
             Contains("--delimiter requires --attributes"));
  CHECK_THAT(fails({"--dir", "/proc/no"}), Contains("/proc/no: cannot be created"));
  CHECK_THAT(fails({}), Contains("--dir is required"));
  CHECK_THAT(fails({"--dir", path, "--listen", "nowhere"}), Contains("is not HOST:PORT"));
  CHECK_THAT(fails({"--dir", path, "--attributes", "a,a"}), Contains("--attributes"));
  CHECK_THAT(fails({"--dir", path, "--password-file", "/nowhere"}), Contains("/nowhere"));
}

}  // namespace
}  // namespace stout::blowfish
