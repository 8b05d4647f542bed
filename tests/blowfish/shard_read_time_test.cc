// The time of reads that layers make faster, and the layers that it brings.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "blowfish/server/navigator.h"
#include "blowfish/server/shard_runner.h"
#include "shard_fixture.h"
#include "shard_runner_fixture.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using test::CommandWords;
using test::OpenedShard;
using test::Sets;
using test::ShardClient;

// A runner whose shard gets the layer that a navigation decides on: one at most. Time passes by
// 0.1 ms whenever the runner looks at it, and where the test lets it pass.
class NavigatedShard {
 public:
  explicit NavigatedShard(OpenedShard& opened)
      : runner(opened.shard(), 0,
               {.queue = [] { return 0; },
                .done = [](SubBatch& batch) { batch.batch->Done(); },
                .now = [this] { return now_ += std::chrono::microseconds(100); }}),
        shard_(opened.shard()),
        navigator_({.budget = 1 << 20, .beta = 0.1, .dwell = std::chrono::hours(1)}, 1, now_) {}

  ShardRunner runner;

  // The worker was busy without a look at the clock, and this number of requests waits.
  void Look(std::uint64_t queue, Duration busy = {}) {
    now_ += busy;
    const Duration read = runner.read_time().Ended();
    const ShardState state{
        .reads = static_cast<double>((read - read_).count()) /
                 static_cast<double>((now_ - looked_).count()),
        .queue = queue,
        .layers = shard_.layers(),
        .bytes = shard_.layer_bytes(),
        .next_bytes = {shard_.next_layer_bytes().front()},
        .finest_bytes = shard_.finest_layer_bytes(),
    };
    read_ = read;
    looked_ = now_;
    for (const Navigation& move : navigator_.Observe(now_, std::span(&state, 1))) {
      if (move.move == Navigation::Move::kAdd) shard_.AddLayer();
    }
  }

 private:
  Shard& shard_;
  TimePoint now_;
  TimePoint looked_;
  Duration read_{};
  Navigator navigator_;
};

// A shard with compressed records "NUMBER|city|...", half of them of one city.
class Cities {
 public:
  Cities() {
    ShardClient client(opened);
    CommandWords mset = {"MSET"};
    for (int i = 0; i < 2000; ++i) {
      const std::string number = std::to_string(i);
      mset.insert(mset.end(), {"key" + number, number + (i % 2 == 0 ? "|rome" : "|oslo") + "|c|d"});
    }
    client.Do({mset});
    opened.shard().Compact();
    opened.Rest();
    REQUIRE(opened.shard().next_layer_bytes().front() > 0);
  }

  OpenedShard opened{Schema::Make({"number", "city", "c", "d"}, '|').value()};
};

TEST_CASE("the time of a read counts while it lasts, and once") {
  ReadTime time;
  const auto at = [](int seconds) { return TimePoint(std::chrono::seconds(seconds)); };
  CHECK(time.Total(at(1)) == Duration());
  time.Begin(at(1));
  CHECK(time.Ended() == Duration());
  CHECK(time.Total(at(3)) == std::chrono::seconds(2));
  time.End(at(4));
  CHECK(time.Ended() == std::chrono::seconds(3));
  CHECK(time.Total(at(9)) == std::chrono::seconds(3));
}

TEST_CASE("a shard is seen to read before the read ends") {
  Cities cities;
  TimePoint now;
  const auto time = std::make_shared<ReadTime>();
  std::vector<Duration> seen;
  ShardRunner runner(cities.opened.shard(), 0,
                     {.queue = [] { return 0; },
                      .done =
                          [&](SubBatch& batch) {
                            now += std::chrono::seconds(1);  // The answer is a part of the read.
                            seen.push_back(time->Total(now));
                            batch.batch->Done();
                          },
                      .now = [&] { return now; },
                      .read_time = time});
  ShardClient client(cities.opened);
  for (const auto& command :
       {CommandWords{"GET", "key1"}, CommandWords{"SEARCH", "city", "rome"}}) {
    client.Make({command});
    client.Add(runner);
    runner.Run();
    client.Finish(runner);
  }
  CHECK(seen == std::vector<Duration>{std::chrono::seconds(1), std::chrono::seconds(2)});
  CHECK(time->Ended() == std::chrono::seconds(2));
  CHECK(time->Total(now += std::chrono::seconds(9)) == std::chrono::seconds(2));
}

TEST_CASE("a sub-batch is answered once its own reads are, while others are being read") {
  OpenedShard opened{Schema()};
  ShardClient first(opened);
  ShardClient second(opened);
  first.Do({{"SET", "key1", "a"}, {"SET", "key2", "b"}});
  std::vector<std::string> seen;  // length of the second reply when sub-batches are answered
  ShardRunner runner(opened.shard(), 0,
                     {.queue = [] { return 0; },
                      .done =
                          [&](SubBatch& batch) {
                            batch.batch->Done();
                            seen.push_back(second.Reply(0));
                          },
                      .now = [] { return TimePoint(); }});
  first.Make({{"GET", "key1"}});
  second.Make({{"GET", "key2"}});
  first.Add(runner);
  second.Add(runner);
  runner.Run();
  CHECK(seen == std::vector<std::string>{"", "$1\r\nb\r\n"});
}

TEST_CASE("clients that wait for each answer of a search get their shard a layer") {
  Cities cities;
  NavigatedShard shard(cities.opened);
  constexpr std::size_t kClients = 16;  // Their queue is never longer.
  std::vector<std::unique_ptr<ShardClient>> clients;
  const auto ask = [&](ShardClient& client) {
    client.Make({{"SEARCH", "city", "rome"}});
    client.Add(shard.runner);
  };
  for (std::size_t i = 0; i < kClients; ++i)
    ask(*clients.emplace_back(std::make_unique<ShardClient>(cities.opened)));
  int answered = 0;
  for (int run = 0; run < 1000 && cities.opened.shard().layers() == 0; ++run) {
    shard.runner.Run();
    shard.Look(kClients);
    for (const auto& client : clients) {
      if (!client->done()) continue;
      CHECK(client->At(0).keys.size() == 1000);
      ++answered;
      ask(*client);
    }
  }
  CHECK(cities.opened.shard().layers() == 1);
  CHECK(answered > 0);
  for (const auto& client : clients) client->Finish(shard.runner);
}

TEST_CASE("gets that wait together count as reads exactly if values have to be unpacked") {
  const bool blocks = GENERATE(false, true);
  OpenedShard opened{Schema()};
  opened.options.encoding = blocks ? Encoding::kBlocks : Encoding::kIndex;
  opened.Open();
  ShardClient client(opened);
  client.Do(Sets(100, std::string(100, 'v')));
  opened.shard().Compact();
  opened.Rest();
  NavigatedShard shard(opened);
  client.Make(std::vector<CommandWords>(16, {"GET", "key1"}));
  client.Add(shard.runner);
  shard.runner.Run();
  client.Finish(shard.runner);
  CHECK((shard.runner.read_time().Ended() > Duration()) == blocks);
}

TEST_CASE("writes, scans and deletes alone get their shard no layer, gets do") {
  Cities cities;
  NavigatedShard shard(cities.opened);
  ShardClient client(cities.opened);
  const auto run = [&](const std::vector<CommandWords>& commands) {
    client.Make(commands);
    client.Add(shard.runner);
    shard.runner.Run();
    client.Finish(shard.runner);
    shard.Look(1000, std::chrono::milliseconds(10));
  };
  for (int i = 0; i < 50; ++i) {
    run(Sets(100, std::to_string(i) + "|rome|c|d"));
    run({{"MSET", "key1", "1|oslo|c|d", "key2", "2|oslo|c|d"}, {"DEL", "key3"}, {"SCAN", "0"}});
  }
  run({{"FLUSHALL"}});
  CHECK(shard.runner.read_time().Ended() == Duration());
  CHECK(cities.opened.shard().layers() == 0);
  // Negative control.
  run({{"GET", "key1"}, {"GETATTR", "key1", "city"}});
  CHECK(shard.runner.read_time().Ended() > Duration());
}

TEST_CASE("the time of reads that no layer makes faster does not count") {
  Cities cities;
  NavigatedShard shard(cities.opened);
  ShardClient client(cities.opened);
  const auto time_of = [&](const std::vector<CommandWords>& commands) {
    const Duration before = shard.runner.read_time().Ended();
    client.Make(commands);
    client.Add(shard.runner);
    shard.runner.Run();
    client.Finish(shard.runner);
    return shard.runner.read_time().Ended() - before;
  };
  const CommandWords count = {"SEARCH", "city", "rome", "COUNT"};
  CHECK(time_of({{"MGET", "key1", "key2", "key3", "key4"}}) == Duration());  // in lock step
  CHECK(time_of({{"GREP", "rome"}}) == Duration());                          // reads all
  CHECK(time_of({count}) == Duration());                                     // looks at no record
  // Negative control: these walk.
  CHECK(time_of({{"GET", "key1"}}) > Duration());
  CHECK(time_of({{"GETATTR", "key1", "city"}, {"GETATTR", "key2", "city"}}) > Duration());
  CHECK(time_of({{"SEARCH", "city", "rome"}}) > Duration());
  CHECK(time_of({{"SET", "key1", "1|rome|c|d"}}) == Duration());
  CHECK(time_of({count}) > Duration());  // of the record that was changed
}

TEST_CASE("an attribute is the same alone as among many reads") {
  OpenedShard opened{Schema::Make({"a", "b", "c"}, '|').value()};
  ShardClient client(opened);
  client.Do({{"MSET", "old", "x||z|z", "short", "x"}});
  opened.shard().Compact();
  opened.Rest();
  client.Do({{"SET", "new", "1|2|3"}});
  std::vector<CommandWords> commands;
  for (const std::string key : {"old", "short", "new", "never"}) {
    for (const std::string attribute : {"a", "b", "c"})
      commands.push_back({"GETATTR", key, attribute});
  }
  std::vector<std::string> alone;
  for (const CommandWords& command : commands) {
    client.Do({command});
    alone.push_back(client.Reply(0));
  }
  const std::string null = "$-1\r\n";
  CHECK(alone == std::vector<std::string>{"$1\r\nx\r\n", "$0\r\n\r\n", "$3\r\nz|z\r\n",
                                          "$1\r\nx\r\n", null, null, "$1\r\n1\r\n", "$1\r\n2\r\n",
                                          "$1\r\n3\r\n", null, null, null});
  client.Do(commands);
  for (std::size_t i = 0; i < commands.size(); ++i) CHECK(client.Reply(i) == alone[i]);
  // With others, of which each has its own answer.
  client.Do({commands[0], {"GET", "old"}, commands[7]});
  CHECK(client.Reply(0) == alone[0]);
  CHECK(client.Reply(1) == "$6\r\nx||z|z\r\n");
  CHECK(client.Reply(2) == alone[7]);
}

}  // namespace
}  // namespace stout::blowfish
