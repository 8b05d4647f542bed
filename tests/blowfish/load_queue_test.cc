#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "blowfish/load/record_queue.h"
#include "stout/core/random.h"
#include "tests/resp/receive_all.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using resp::CommandWords;
using resp::ReceiveWhole;
using resp::Reply;
using Commands = std::vector<CommandWords>;
using Replies = std::vector<Reply>;

const Reply kDone{.kind = Reply::Kind::kStatus, .text = "OK"};
const Reply kBusy{.kind = Reply::Kind::kError, .text = "BUSY with others"};
const Reply kWrong{.kind = Reply::Kind::kError, .text = "ERR wrong"};

Commands Next(RecordQueue& queue) { return ReceiveWhole(queue.NextRound().bytes()).commands; }

TEST_CASE("a queue is full with two rounds, and has room when they are answered", "[load]") {
  RecordQueue queue({.commands = 2, .batch = 1});
  for (const std::uint64_t line : {1, 2, 3, 4}) {
    CHECK_FALSE(queue.full());
    queue.Add("k" + std::to_string(line), "v", line);
  }
  CHECK(queue.full());
  CHECK(Next(queue) == Commands{{"SET", "k1", "v"}, {"SET", "k2", "v"}});
  CHECK(queue.Finish(Replies{kDone, kWrong}) ==
        RecordQueue::Outcome{.records = 1, .bytes = 3, .refused = {{2, "ERR wrong"}}});
  CHECK_FALSE(queue.full());
  CHECK(queue.first_line() == 3);
  CHECK(Next(queue) == Commands{{"SET", "k3", "v"}, {"SET", "k4", "v"}});
  CHECK(queue.Finish(Replies{kDone, kDone}) == RecordQueue::Outcome{.records = 2, .bytes = 6});
  CHECK(queue.empty());
  CHECK(queue.resent() == 0);
}

TEST_CASE("a command has a batch of records, the last one of a round what there is", "[load]") {
  RecordQueue queue({.commands = 4, .batch = 2});
  queue.Add("a", "1", 1);
  queue.Add("b", "2", 2);
  queue.Add("c", "3", 3);
  CHECK(Next(queue) == Commands{{"MSET", "a", "1", "b", "2"}, {"SET", "c", "3"}});
}

TEST_CASE("a round after a busy server begins with its command", "[load]") {
  RecordQueue queue({.commands = 4, .batch = 1});
  queue.Add("a", "1", 1);
  queue.Add("b", "2", 2);
  queue.Add("c", "3", 3);
  REQUIRE(Next(queue).size() == 3);
  CHECK(queue.Finish(Replies{kDone, kBusy, kDone}) ==
        RecordQueue::Outcome{.records = 1, .bytes = 2, .busy = "BUSY with others"});
  CHECK(Next(queue) == Commands{{"SET", "b", "2"}, {"SET", "c", "3"}});
  CHECK(queue.resent() == 2);
}

TEST_CASE("records that are refused together are sent one by one", "[load]") {
  RecordQueue queue({.commands = 4, .batch = 2});
  for (const std::uint64_t line : {1, 2, 3, 4}) queue.Add("k" + std::to_string(line), "v", line);
  REQUIRE(Next(queue).size() == 2);
  CHECK(queue.Finish(Replies{kWrong, kDone}) == RecordQueue::Outcome{});
  CHECK(Next(queue) ==
        Commands{{"SET", "k1", "v"}, {"SET", "k2", "v"}, {"MSET", "k3", "v", "k4", "v"}});
}

TEST_CASE("large records fill a queue, too, and make small rounds", "[load]") {
  RecordQueue queue({.commands = 100, .batch = 1});
  const std::string megabyte(1 << 20, 'x');
  std::uint64_t records = 0;
  while (!queue.full()) queue.Add("k", megabyte, ++records);
  CHECK(records == 8);
  CHECK(Next(queue).size() == 1);
}

TEST_CASE("a reply that ends the load says what to check", "[load]") {
  RecordQueue queue({.commands = 4, .batch = 1});
  queue.Add("a", "1", 1);
  REQUIRE(Next(queue).size() == 1);
  const Reply reply = GENERATE(Reply{.kind = Reply::Kind::kError, .text = "NOAUTH first"},
                               Reply{.kind = Reply::Kind::kError, .text = "WRONGPASS other"},
                               Reply{.kind = Reply::Kind::kInteger, .integer = 1});
  const RecordQueue::Outcome outcome = queue.Finish(Replies{reply});
  CHECK(outcome.fatal.find(reply.error() ? "--password-file" : "--to") != std::string::npos);
  CHECK(outcome.fatal.find(reply.text) != std::string::npos);
  CHECK(queue.first_line() == 1);
}

TEST_CASE("a shard that is down ends the load before its record, with the remedy", "[load]") {
  const std::size_t batch = GENERATE(1, 2);
  RecordQueue queue({.commands = 4, .batch = batch});
  for (const std::uint64_t line : {1, 2, 3, 4, 5, 6})
    queue.Add("k" + std::to_string(line), "v", line);
  REQUIRE(Next(queue).size() >= 3);
  const Reply down{.kind = Reply::Kind::kError, .text = "SHARDDOWN shard 1: /data: damaged"};
  const RecordQueue::Outcome outcome = queue.Finish(Replies{kDone, down, kDone});
  CHECK(outcome.records == batch);
  CHECK(outcome.refused.empty());
  CHECK(outcome.fatal.starts_with(down.text + "; restore the files of the shard"));
  CHECK(queue.first_line() == batch + 1);
}

// A server that refuses keys that begin with 'x'.
struct ModelServer {
  std::map<std::string, std::string> records;

  Reply Run(const CommandWords& command, bool busy) {
    if (busy) return kBusy;
    for (std::size_t i = 1; i < command.size(); i += 2) {
      if (command[i].starts_with('x')) return kWrong;
    }
    for (std::size_t i = 1; i < command.size(); i += 2) records[command[i]] = command[i + 1];
    return kDone;
  }
};

// Goal: whatever the server and the network do, in the end the server is as if every record had
// been set once, in order. Few keys, so that most are set again.
TEST_CASE("after busy servers and lost connections, the last record of a key stays", "[load]") {
  const std::uint64_t seed = GENERATE(range(0, 300));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const auto one_in = [&](std::uint64_t n) { return random.Below(n) == 0; };
  RecordQueue queue({.commands = 1 + random.Below(10), .batch = 1 + random.Below(5)});
  ModelServer server;
  std::map<std::string, std::string> expected;
  std::vector<std::uint64_t> to_refuse;
  std::vector<std::uint64_t> refused;
  std::uint64_t loaded = 0;
  std::uint64_t line = 0;
  constexpr std::uint64_t kLines = 300;
  for (int step = 0; line < kLines || !queue.empty(); ++step) {
    REQUIRE(step < 100'000);
    for (std::uint64_t i = random.Below(15); i > 0 && line < kLines && !queue.full(); --i) {
      const std::string key = (one_in(20) ? "x" : "k") + std::to_string(random.Below(6));
      const std::string value = std::to_string(++line);
      queue.Add(key, value, line);
      if (key.starts_with('x')) {
        to_refuse.push_back(line);
      } else {
        expected[key] = value;
      }
    }
    if (queue.empty()) continue;
    // The server runs the first commands of the round. The last of their replies may be lost.
    const Commands commands = Next(queue);
    const bool lost = one_in(10);
    const std::size_t run = lost ? random.Below(commands.size() + 1) : commands.size();
    Replies replies;
    for (std::size_t i = 0; i < run; ++i) replies.push_back(server.Run(commands[i], one_in(25)));
    if (lost) replies.resize(random.Below(run + 1));
    const RecordQueue::Outcome outcome = queue.Finish(replies);
    loaded += outcome.records;
    for (const RecordQueue::Refusal& refusal : outcome.refused) refused.push_back(refusal.line);
  }
  CHECK(server.records == expected);
  CHECK(refused == to_refuse);
  CHECK(loaded == kLines - to_refuse.size());
}

}  // namespace
}  // namespace stout::blowfish
