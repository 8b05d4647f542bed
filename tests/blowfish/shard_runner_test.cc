// The order in which sub-batches wait for each other at a shard, and that none waits for ever. The
// test is the shard's worker.

#include "blowfish/server/shard_runner.h"

#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "blowfish/server/navigator.h"
#include "shard_fixture.h"
#include "shard_runner_fixture.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using test::CommandWords;
using test::MakeRunner;
using test::ManifestAway;
using test::OpenedShard;
using test::ShardClient;
using test::ValueOf;

// While it exists, the files of this process do not grow.
class FullDisk {
 public:
  FullDisk() : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit none = {.rlim_cur = 0, .rlim_max = before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_ = {};
};

std::vector<CommandWords> Sets(int count, const std::string& value) {
  std::vector<CommandWords> commands;
  for (int i = 0; i < count; ++i) commands.push_back({"SET", "key" + std::to_string(i), value});
  return commands;
}

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
        .next_bytes = shard_.next_layer_bytes(),
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
    REQUIRE(opened.shard().next_layer_bytes() > 0);
  }

  OpenedShard opened{Schema::Make({"number", "city", "c", "d"}, '|').value()};
};

// How many subrequests were answered so.
std::size_t Count(const ShardClient& client, std::string_view error) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < client.subrequests(); ++i) count += client.Error(i) == error;
  return count;
}

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

TEST_CASE("plain writes wait for room in the log") {
  OpenedShard opened{Schema()};
  opened.options.max_waiting_bytes = 10'000;
  opened.options.compaction = {};
  opened.Open();
  const std::string value(500, 'v');
  std::vector<CommandWords> commands = Sets(100, value);
  commands.push_back({"MSET", "key1", value + "'", "key100", value});
  commands.push_back({"DEL", "key2"});
  commands.push_back({"SETNX", "key101", value});
  ShardClient client(opened);
  ShardClient adapter(opened);
  ShardRunner runner = MakeRunner(opened);
  client.Make(commands);
  client.Add(runner);
  adapter.Make({{"STOUT.WRITE", "0", "s", "1", "PUT", "key200", "1", value}});
  adapter.Add(runner);
  runner.Run();
  // It is told at once.
  REQUIRE(adapter.done());
  CHECK(adapter.At(0).written == WriteResult{Errc::kTransient, {}});
  client.Finish(runner);
  CHECK(Count(client, "") == client.subrequests());
  CHECK(opened.shard().size() == 101);
  CHECK(ValueOf(opened.shard(), "key1") == value + "'");

  client.Do({{"FLUSHALL"}});
  CHECK(client.Error(0).empty());
  CHECK(opened.shard().size() == 0);
  // A write that is larger than the bound of waiting bytes is also written.
  commands = Sets(30, value);
  commands.push_back({"SET", "key40", std::string(20'000, 'v')});
  client.Do(commands);
  CHECK(Count(client, "") == client.subrequests());
  CHECK(ValueOf(opened.shard(), "key40") == std::string(20'000, 'v'));
}

TEST_CASE("plain writes wait for compactions that make room, and for none that failed") {
  OpenedShard opened{Schema()};
  opened.options.compaction.max_unmerged_bytes = 1 << 18;
  opened.options.compaction.merge_bytes = 1 << 30;
  opened.Open();
  ShardClient client(opened);
  const auto write = [&](int batches) {
    std::size_t written = 0;
    for (int i = 0; i < batches; ++i) {
      client.Do(Sets(100, std::string(1000, static_cast<char>('a' + i % 26))));
      written += Count(client, "");
      CHECK(Count(client, "") + Count(client, WriteError(Errc::kTransient)) == 100);
    }
    return written;
  };
  CHECK(write(20) == 2000);
  CHECK(opened.shard().stats().merges > 0);
  {
    const ManifestAway away(opened);
    CHECK(write(20) < 2000);
    CHECK(opened.shard().stats().failed_compactions > 0);
  }
  opened.shard().Compact();
  opened.Rest();
  CHECK(write(20) == 2000);
}

TEST_CASE("plain writes to a full disk are answered") {
  OpenedShard opened{Schema()};
  opened.options.max_waiting_bytes = 10'000;
  opened.options.compaction = {};
  opened.Open();
  ShardClient client(opened);
  {
    const FullDisk full;
    client.Do(Sets(100, std::string(500, 'v')));
  }
  CHECK(Count(client, WriteError(Errc::kTransient)) == 100);
  client.Do(Sets(100, std::string(500, 'v')));
  CHECK(Count(client, "") == 100);
}

TEST_CASE("who waits for a key is not overtaken by those who write it all the time") {
  const auto command =
      GENERATE(CommandWords{"DEL", "key"}, CommandWords{"SETNX", "key", "new"},
               CommandWords{"GETSET", "key", "new"}, CommandWords{"SET", "key", "new", "XX"});
  CAPTURE(command[0]);
  OpenedShard opened{Schema()};
  ShardRunner runner = MakeRunner(opened);
  std::vector<std::unique_ptr<ShardClient>> writers;
  const auto write = [&](const CommandWords& what) {
    ShardClient& writer = *writers.emplace_back(std::make_unique<ShardClient>(opened));
    writer.Make({what});
    writer.Add(runner);
    runner.Run();
  };
  write({"SET", "key", "0"});
  ShardClient waiting(opened);
  waiting.Make({command});
  waiting.Add(runner);
  runner.Run();
  // Before a write is durable the next one is there, by commands of both kinds.
  for (int i = 1; !waiting.done(); ++i) {
    REQUIRE(i < 20);
    opened.Wait();
    write(i % 2 == 0 ? CommandWords{"SET", "key", std::to_string(i)}
                     : CommandWords{"MSET", "other", "v", "key", std::to_string(i)});
    opened.shard().Poll();
    runner.Run();
  }
  CHECK(waiting.Error(0).empty());
  for (const auto& writer : writers) {
    writer->Finish(runner);
    CHECK(writer->Error(0).empty());
  }
  CHECK(ValueOf(opened.shard(), "key") == std::to_string(writers.size() - 1));
}

TEST_CASE("those who wait for a key are served in the order in which they came") {
  OpenedShard opened{Schema()};
  ShardRunner runner = MakeRunner(opened);
  ShardClient first(opened);
  first.Make({{"SET", "key", "0"}});
  ShardClient greedy(opened);
  greedy.Make({{"GETSET", "key", "1"}, {"GETSET", "key", "3"}});
  ShardClient modest(opened);
  modest.Make({{"GETSET", "key", "2"}});
  for (ShardClient* const client : {&first, &greedy, &modest}) {
    client->Add(runner);
    runner.Run();
  }
  for (ShardClient* const client : {&first, &greedy, &modest}) client->Finish(runner);
  CHECK(greedy.Reply(0) == "$1\r\n0\r\n");
  CHECK(modest.Reply(0) == "$1\r\n1\r\n");
  CHECK(greedy.Reply(1) == "$1\r\n2\r\n");
}

// A shard with this number of keys, half of them compressed, which a search has to look at.
void Fill(OpenedShard& opened, int keys) {
  ShardClient client(opened);
  for (const int half : {0, 1}) {
    CommandWords mset = {"MSET"};
    for (int i = half; i < keys; i += 2) {
      mset.push_back("key" + std::to_string(i));
      mset.push_back(std::string(100, 'v'));
    }
    client.Do({mset});
    REQUIRE(client.Error(0).empty());
    if (half == 0) {
      opened.shard().Compact();
      opened.Rest();
    }
  }
}

TEST_CASE("who asks little waits for a slice of what takes long, and not for all of it") {
  const auto command =
      GENERATE(CommandWords{"GREP", "vv", "COUNT"}, CommandWords{"GREP", "nowhere"},
               CommandWords{"SEARCH", "a", "v", "PREFIX"}, CommandWords{"SCAN", "0"});
  CAPTURE(command);
  OpenedShard opened{Schema::Make({"a"}, '|').value()};
  Fill(opened, 4000);
  ShardRunner runner = MakeRunner(opened);
  ShardClient patient(opened);
  patient.Make(std::vector<CommandWords>(50, command));
  patient.Add(runner);
  for (int i = 0; i < 10; ++i) {
    runner.Run();
    REQUIRE_FALSE(patient.done());
    ShardClient hasty(opened);
    hasty.Make({{"GET", "key1"}, {"GET", "key2"}, {"DBSIZE"}});
    hasty.Add(runner);
    runner.Run();
    CHECK(hasty.done());
    REQUIRE_FALSE(patient.done());
  }
  patient.Finish(runner);
  for (std::size_t i = 0; i < patient.subrequests(); ++i) {
    CHECK(patient.Error(i).empty());
    CHECK(patient.At(i).number == (command.back() == "COUNT" ? 4000 : 0));
    if (command[0] == "SEARCH") CHECK(patient.At(i).keys.size() == 4000);
    if (command[0] == "SCAN") CHECK(patient.At(i).keys.size() == 10);
  }
}

TEST_CASE("of those who take long, however many, each has its turn") {
  OpenedShard opened{Schema()};
  Fill(opened, 2000);
  ShardRunner runner = MakeRunner(opened);
  std::vector<std::unique_ptr<ShardClient>> greedy;
  for (int i = 0; i < 7; ++i) {
    ShardClient& client = *greedy.emplace_back(std::make_unique<ShardClient>(opened));
    client.Make(std::vector<CommandWords>(50, CommandWords{"GREP", "nowhere"}));
    client.Add(runner);
  }
  std::vector<std::unique_ptr<ShardClient>> modest;
  for (int i = 0; i < 30; ++i) {
    ShardClient& client = *modest.emplace_back(std::make_unique<ShardClient>(opened));
    client.Make({i % 2 == 0 ? CommandWords{"GREP", "vvv", "COUNT"} : CommandWords{"SCAN", "0"}});
    client.Add(runner);
  }
  for (const auto& client : modest) client->Finish(runner);
  for (const auto& client : greedy) CHECK_FALSE(client->done());
  for (const auto& client : greedy) client->Finish(runner);
}

TEST_CASE("what a client asks for at length comes before what it does next") {
  OpenedShard opened{Schema()};
  Fill(opened, 2000);
  ShardClient client(opened);
  client.Do({{"SET", "new", "zzz"},
             {"GREP", "zzz", "COUNT"},
             {"SET", "newer", "zzz"},
             {"DEL", "new"},
             {"GREP", "zzz", "COUNT"},
             {"DBSIZE"}});
  CHECK(client.At(1).number == 1);
  CHECK(client.At(4).number == 1);
  CHECK(client.At(5).number == 2001);
}

TEST_CASE("when the worker is to end, turns end with an error") {
  OpenedShard opened{Schema()};
  Fill(opened, 2000);
  ShardRunner runner = MakeRunner(opened);
  ShardClient client(opened);
  client.Make({{"GREP", "v"}, {"GET", "key1"}, {"FLUSHALL"}});
  client.Add(runner);
  runner.Run();
  REQUIRE_FALSE(client.done());
  runner.End();
  client.Finish(runner);
  CHECK(client.Error(0) == "ERR the server is ending");
  CHECK(client.Error(1).empty());
  CHECK(client.Error(2) == "ERR the server is ending");
  CHECK(opened.shard().size() == 2000);
}

TEST_CASE("FLUSHALL ends while others go on writing, and leaves nothing of what it met") {
  OpenedShard opened{Schema()};
  Fill(opened, 5000);
  ShardRunner runner = MakeRunner(opened);
  ShardClient client(opened);
  client.Make({{"FLUSHALL"}, {"SET", "key1", "new"}});
  client.Add(runner);
  ShardClient writer(opened);
  // More than are deleted at a time, and behind all that there are.
  int number = 0;
  for (int round = 0; !client.done(); ++round) {
    REQUIRE(round < 50);
    CommandWords mset = {"MSET"};
    for (int i = 0; i < 1500; ++i) {
      mset.push_back("more" + std::to_string(1'000'000 + ++number));
      mset.push_back("v");
    }
    writer.Make({mset});
    writer.Add(runner);
    runner.Run();
    writer.Finish(runner);
    REQUIRE(writer.Error(0).empty());
  }
  CHECK(client.Error(0).empty());
  CHECK(ValueOf(opened.shard(), "key1") == "new");
  CHECK(opened.shard().size() == 1 + static_cast<std::uint64_t>(number));
}

TEST_CASE("who waits for a key is not overtaken by those who write it with stamps") {
  const auto command =
      GENERATE(CommandWords{"DEL", "other", "key"}, CommandWords{"SETNX", "key", "new"},
               CommandWords{"GETSET", "key", "new"});
  CAPTURE(command[0]);
  OpenedShard opened{Schema()};
  ShardRunner runner = MakeRunner(opened);
  std::vector<std::unique_ptr<ShardClient>> writers;
  const auto write = [&] {
    const std::string version = std::to_string(1000 * (writers.size() + 1));
    ShardClient& writer = *writers.emplace_back(std::make_unique<ShardClient>(opened));
    writer.Make({{"STOUT.WRITE", "0", "s", "1", "PUT", "key", version, version}});
    writer.Add(runner);
    runner.Run();
  };
  write();
  ShardClient waiting(opened);
  waiting.Make({command});
  waiting.Add(runner);
  runner.Run();
  for (int i = 1; i < 20 && !waiting.done(); ++i) {
    opened.Wait();
    write();
    opened.shard().Poll();
    runner.Run();
  }
  CHECK(waiting.done());
  waiting.Finish(runner);
  for (const auto& writer : writers) {
    writer->Finish(runner);
    CHECK(writer->At(0).written == WriteResult());
  }
  CHECK(ValueOf(opened.shard(), "key") == std::to_string(1000 * writers.size()));
}

TEST_CASE("who waits for one of its keys is not overtaken at the others") {
  OpenedShard opened{Schema()};
  ShardRunner runner = MakeRunner(opened);
  const std::string other(100, 'o');
  ShardClient first(opened);
  first.Make({{"SET", "key", "0"}});
  first.Add(runner);
  runner.Run();
  ShardClient waiting(opened);
  waiting.Make({{"SET", "key", "1", "NX"}});
  ShardClient behind(opened);
  behind.Make({{"STOUT.WRITE", "0", "s", "1", "PUT", "key", "9", "2", "PUT", other, "9", "2"}});
  ShardClient last(opened);
  last.Make({{"SET", other, "3"}});
  for (ShardClient* const client : {&waiting, &behind, &last}) client->Add(runner);
  runner.Run();
  CHECK_FALSE(last.done());
  for (ShardClient* const client : {&first, &waiting, &behind, &last}) client->Finish(runner);
  CHECK(ValueOf(opened.shard(), "key") == "2");
  CHECK(ValueOf(opened.shard(), other) == "3");
}

TEST_CASE("DEL of several keys is one write, and counts each key once") {
  OpenedShard opened{Schema()};
  ShardClient client(opened);
  client.Do({{"MSET", "a", "1", "b", "2", "c", "3"}});
  ShardRunner runner = MakeRunner(opened);
  ShardClient writer(opened);
  writer.Make({{"SET", "b", "4"}});
  writer.Add(runner);
  client.Make({{"DEL", "a", "b", "a", "never"}, {"EXISTS", "a", "b", "c"}});
  client.Add(runner);
  runner.Run();
  // One of them is being written: so it deletes none yet.
  REQUIRE(opened.shard().IsPending("b"));
  CHECK_FALSE(opened.shard().IsPending("a"));
  writer.Finish(runner);
  client.Finish(runner);
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < client.subrequests(); ++i) numbers.push_back(client.At(i).number);
  CHECK(numbers == std::vector<std::int64_t>{1, 1, 0, 0, 0, 0, 1});
}

TEST_CASE("DEL of more keys than one batch takes deletes them all") {
  OpenedShard opened{Schema()};
  opened.options.compaction = {};
  opened.Open();
  ShardClient client(opened);
  CommandWords mset = {"MSET"};
  CommandWords del = {"DEL"};
  for (int i = 0; i < 1000; ++i) {
    del.push_back(std::string(4000, 'k') + std::to_string(i));
    mset.insert(mset.end(), {del.back(), "v"});
  }
  client.Do({mset});
  client.Do({del});
  for (std::size_t i = 0; i < client.subrequests(); ++i) REQUIRE(client.At(i).number == 1);
  CHECK(opened.shard().size() == 0);
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

TEST_CASE("a plain write waits for a fence that is under way") {
  OpenedShard opened{Schema()};
  ShardRunner runner = MakeRunner(opened);
  ShardClient owner(opened);
  owner.Make({{"STOUT.FENCE", "", "5"}});
  owner.Add(runner);
  ShardClient client(opened);
  client.Make({{"SET", "key", "v"}});
  client.Add(runner);
  runner.Run();
  CHECK_FALSE(client.done());
  owner.Finish(runner);
  client.Finish(runner);
  CHECK(client.Error(0) == WriteError(Errc::kFenced));
}

TEST_CASE("a plain write is not held up by fences that come all the time") {
  OpenedShard opened{Schema()};
  ShardRunner runner = MakeRunner(opened);
  std::vector<std::unique_ptr<ShardClient>> owners;
  const auto fence = [&] {
    ShardClient& owner = *owners.emplace_back(std::make_unique<ShardClient>(opened));
    owner.Make({{"STOUT.FENCE", "", std::to_string(owners.size())}});
    owner.Add(runner);
    runner.Run();
  };
  fence();
  ShardClient client(opened);
  client.Make({{"SET", "key", "v"}});
  client.Add(runner);
  runner.Run();
  // Before one is decided the next one is there.
  for (int i = 0; i < 20 && !client.done(); ++i) {
    opened.Wait();
    fence();
    opened.shard().Poll();
    runner.Run();
  }
  CHECK(client.done());
  for (const auto& owner : owners) {
    owner->Finish(runner);
    CHECK(owner->At(0).number == 0);
  }
  client.Finish(runner);
}

TEST_CASE("a fence does not wait for who waits for room") {
  OpenedShard opened{Schema()};
  opened.options.max_waiting_bytes = 10'000;
  opened.options.compaction = {};
  opened.Open();
  ShardRunner runner = MakeRunner(opened);
  ShardClient client(opened);
  client.Make(Sets(100, std::string(500, 'v')));
  client.Add(runner);
  ShardClient owner(opened);
  owner.Make({{"STOUT.FENCE", "", "5"}});
  owner.Add(runner);
  runner.Run();
  REQUIRE_FALSE(client.done());
  CHECK(opened.shard().IsFencePending(Scope()));
  owner.Finish(runner);
  client.Finish(runner);
}

}  // namespace
}  // namespace stout::blowfish
