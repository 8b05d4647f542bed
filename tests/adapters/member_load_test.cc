// The clients of member-bench, before scripted servers.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "members/load.h"
#include "members/timeline.h"
#include "scripted_resp_server.h"
#include "stout/adapters/hash_slot.h"
#include "tests/support/catch.h"

namespace stout::bench {
namespace {

using namespace std::chrono_literals;
using Server = test::ScriptedRespServer;

Server::Answer Obey(const Server::Command& command) {
  return {command.front() == "GET" ? "$-1\r\n" : "+OK\r\n"};
}

std::string AddressOf(const Server& server) { return "127.0.0.1:" + std::to_string(server.port()); }

std::vector<std::string> KeysOf(const Server& server, const std::string& name) {
  std::vector<std::string> keys;
  for (const Server::Command& command : server.commands()) {
    if (command.front() == name) keys.push_back(command.at(1));
  }
  return keys;
}

Load Short() { return {.clients = 4, .keys = 100, .zipf = 0.99, .warm_up = 1ms, .measure = 300ms}; }

TEST_CASE("a request counts when its answer comes in the measured time", "[member-bench]") {
  const Load load{.warm_up = 1s, .measure = 1s};
  const TimePoint begin{10s};
  LoadResult result;
  result.Add(load, begin, begin, begin + 999ms, 1);
  result.Add(load, begin, begin, begin + 1001ms, 1);
  result.Add(load, begin, begin + 1s, begin + 1500ms, 1);
  result.Add(load, begin, begin + 1500ms, begin + 2001ms, 1);
  CHECK(result.answered() == 4);
  CHECK(result.rate_per_s(load) == 2);
  CHECK(result.quantile_us(1) == 1'001'000);
}

// The server takes 200 ms for each request, and one is due every 10 ms for 301 ms.
TEST_CASE("a request that is overdue at the end counts its time until then", "[member-bench]") {
  Server server([](const Server::Command& command) {
    std::this_thread::sleep_for(200ms);
    return Obey(command);
  });
  Load load = Short();
  load.clients = 1;
  load.rate = 100;
  LoadResult result = RunOnServer(load, AddressOf(server), 0, nullptr);
  CHECK(result.answered() <= 2);
  CHECK(result.quantile_us(0) <= 10'000);
  CHECK(result.quantile_us(0.5) > 100'000);
}

TEST_CASE("a refused request takes as long as all its attempts, and lost keys are counted",
          "[member-bench]") {
  std::atomic<int> refusals = 20;  // each costs 5 ms
  Server server([&](const Server::Command& command) {
    return refusals-- > 0 ? Server::Answer{"-TRYAGAIN moving\r\n"} : Obey(command);
  });
  Load load = Short();
  load.clients = 1;
  load.gets = 100;
  Timeline timeline("/dev/null", 1);
  LoadResult result = RunOnServer(load, AddressOf(server), 0, &timeline);
  CHECK(timeline.refused() > 5);
  CHECK(result.quantile_us(1) > 25'000);
  CHECK(result.missing == result.answered());
}

TEST_CASE("a client that knows the slots sends each request to its owner", "[member-bench]") {
  Server low(Obey), high(Obey);
  const auto node = [](const Server& server) {
    return "*2\r\n$9\r\n127.0.0.1\r\n:" + std::to_string(server.port()) + "\r\n";
  };
  const std::string slots =
      "*2\r\n*3\r\n:0\r\n:8191\r\n" + node(low) + "*3\r\n:8192\r\n:16383\r\n" + node(high);
  low.Follow([&](const Server::Command& command) {
    return command.front() == "CLUSTER" ? Server::Answer{slots} : Obey(command);
  });
  Load load = Short();
  load.gets = 50;
  load.slots = true;
  const LoadResult result = RunOnServer(load, AddressOf(low), 0, nullptr);
  std::size_t commands = 0;
  for (const char* name : {"GET", "SET"}) {
    for (const Server* server : {&low, &high}) {
      const std::vector<std::string> keys = KeysOf(*server, name);
      commands += keys.size();
      CHECK_FALSE(keys.empty());
      CHECK(std::ranges::all_of(keys, [&](const std::string& key) {
        return (redis::SlotOf(key) < 8192) == (server == &low);
      }));
    }
  }
  CHECK(result.answered() == commands);
}

TEST_CASE("relaxed gets have a READONLY connection to the client's server", "[member-bench]") {
  Server first(Obey), second(Obey);
  Load load = Short();
  load.gets = 100;
  load.relaxed = 100;
  const LoadResult result =
      RunOnServer(load, AddressOf(first) + "," + AddressOf(second), 0, nullptr);
  CHECK(result.mean_us(LoadResult::kRelaxedGet) > 0);
  CHECK(result.mean_us(LoadResult::kGet) == 0);
  for (const Server* server : {&first, &second}) {
    CHECK(server->connections() == 4);  // two clients with two each
    CHECK(std::ranges::count(server->commands(), Server::Command{"READONLY"}) == 2);
    CHECK_FALSE(KeysOf(*server, "GET").empty());
    CHECK(KeysOf(*server, "SET").empty());
  }
}

TEST_CASE("a fill sets each key once", "[member-bench]") {
  Server server(Obey);
  Load load = Short();
  load.fill = true;
  CHECK(RunOnServer(load, AddressOf(server), 0, nullptr).answered() == 0);
  std::vector<std::string> keys = KeysOf(server, "SET");
  std::ranges::sort(keys);
  std::vector<std::string> all;
  for (std::uint64_t number = 0; number < load.keys; ++number) all.push_back(KeyOf(number));
  CHECK(keys == all);
  CHECK(server.commands().size() == all.size());
}

TEST_CASE("a sample has the time in seconds and a number", "[member-bench]") {
  CHECK(SampleAt(1'764'280'000'000'042us).starts_with("1764280000.000042 "));
  Server server(Obey);
  Load load = Short();
  load.samples = true;
  load.fill = true;
  CHECK(RunOnServer(load, AddressOf(server), 0, nullptr).answered() == 0);
  const std::vector<Server::Command> commands = server.commands();
  REQUIRE(commands.size() == load.keys);
  for (const Server::Command& command : commands) {
    const std::string& sample = command.at(2);
    REQUIRE(sample.find(' ') != std::string::npos);
    const int number = std::stoi(sample.substr(sample.find(' ')));
    CHECK((number >= 0 && number < 1000));
    const auto age = std::chrono::system_clock::now().time_since_epoch() -
                     std::chrono::duration<double>(std::stod(sample));
    CHECK((age >= -1s && age < 60s));
  }
}

}  // namespace
}  // namespace stout::bench
