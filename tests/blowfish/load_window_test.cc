#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "blowfish/load/send_window.h"
#include "stout/core/random.h"
#include "tests/resp/receive_all.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using Kind = SendWindow::Outcome::Kind;
using resp::AsArray;
using resp::CommandWords;
using resp::ReceiveWhole;
using Commands = std::vector<CommandWords>;

Commands Take(SendWindow& window, std::size_t bytes = 1 << 20) {
  std::string out;
  window.TakeUnsent(bytes, out);
  return ReceiveWhole(out).commands;
}

TEST_CASE("a window is full of commands, and makes room when they are answered", "[load]") {
  SendWindow window({.commands = 2, .batch = 1});
  window.Add("a", "1", 1);
  window.Add("b", "2", 2);
  CHECK(window.full());
  CHECK(Take(window) == Commands{{"SET", "a", "1"}, {"SET", "b", "2"}});
  CHECK(Take(window).empty());
  CHECK(window.due() == 2);
  CHECK(window.OnAnswer(Answer::kDone) ==
        SendWindow::Outcome{.kind = Kind::kLoaded, .records = 1, .bytes = 2, .line = 1});
  CHECK_FALSE(window.full());
  CHECK(window.first_line() == 2);
  CHECK(window.OnAnswer(Answer::kRefused) ==
        SendWindow::Outcome{.kind = Kind::kRefused, .records = 1, .bytes = 2, .line = 2});
  CHECK(window.empty());
  CHECK(window.resent() == 0);
}

TEST_CASE("a batch is sent when it is whole, or flushed", "[load]") {
  SendWindow window({.commands = 4, .batch = 2});
  window.Add("a", "1", 1);
  CHECK(Take(window).empty());
  window.Add("b", "2", 2);
  window.Add("c", "3", 3);
  CHECK(Take(window) == Commands{{"MSET", "a", "1", "b", "2"}});
  window.Flush();
  CHECK(Take(window) == Commands{{"SET", "c", "3"}});
}

TEST_CASE("records that are refused together are sent one by one", "[load]") {
  SendWindow window({.commands = 4, .batch = 2});
  window.Add("a", "1", 1);
  window.Add("b", "2", 2);
  window.Add("c", "3", 3);
  window.Flush();
  REQUIRE(Take(window).size() == 2);
  CHECK(window.OnAnswer(Answer::kRefused).kind == Kind::kApart);
  CHECK_FALSE(window.round_over());
  CHECK(Take(window).empty());
  CHECK(window.OnAnswer(Answer::kDone).kind == Kind::kNothing);
  REQUIRE(window.round_over());
  window.Rewind();
  CHECK(Take(window) == Commands{{"SET", "a", "1"}, {"SET", "b", "2"}, {"SET", "c", "3"}});
}

TEST_CASE("large records fill a window, too", "[load]") {
  SendWindow window({.commands = 100, .batch = 100});
  const std::string megabyte(1 << 20, 'x');
  std::uint64_t records = 0;
  while (!window.full()) window.Add("k", megabyte, ++records);
  CHECK(records == 8);
  CHECK(Take(window).size() == 1);
}

// A server that answers in order, when it is asked to; it refuses keys that begin with 'x'.
struct ModelServer {
  std::map<std::string, std::string> records;
  std::deque<CommandWords> received;
  std::deque<Answer> answers;

  void Run(bool busy) {
    const CommandWords& command = received.front();
    answers.push_back(busy ? Answer::kAgain : Execute(command));
    received.pop_front();
  }
  Answer Execute(const CommandWords& command) {
    for (std::size_t i = 1; i < command.size(); i += 2) {
      if (command[i].starts_with('x')) return Answer::kRefused;
    }
    for (std::size_t i = 1; i < command.size(); i += 2) records[command[i]] = command[i + 1];
    return Answer::kDone;
  }
  void Disconnect() {
    received.clear();
    answers.clear();
  }
};

// Goal: whatever the server and the network do, in the end the server is as if every record had
// been set once, in order. Few keys, so that most are set again.
TEST_CASE("after busy servers and lost connections, the last record of a key stays", "[load]") {
  const std::uint64_t seed = GENERATE(range(0, 300));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const auto one_in = [&](std::uint64_t n) { return random.Below(n) == 0; };
  SendWindow window({.commands = 1 + random.Below(10), .batch = 1 + random.Below(5)});
  ModelServer server;
  std::map<std::string, std::string> expected;
  std::vector<std::uint64_t> to_refuse;
  std::vector<std::uint64_t> refused;
  std::uint64_t loaded = 0;
  std::uint64_t line = 0;
  constexpr std::uint64_t kLines = 300;
  for (int step = 0; line < kLines || !window.empty(); ++step) {
    REQUIRE(step < 100'000);
    for (std::uint64_t i = random.Below(5); i > 0 && line < kLines && !window.full(); --i) {
      const std::string key = (one_in(20) ? "x" : "k") + std::to_string(random.Below(6));
      const std::string value = std::to_string(++line);
      window.Add(key, value, line);
      if (key.starts_with('x')) {
        to_refuse.push_back(line);
      } else {
        expected[key] = value;
      }
    }
    if (line == kLines || one_in(10)) window.Flush();
    for (CommandWords& command : Take(window, random.Below(200))) {
      server.received.push_back(std::move(command));
    }
    for (std::uint64_t i = random.Below(5); i > 0 && !server.received.empty(); --i) {
      server.Run(one_in(25));
    }
    if (one_in(40)) {
      server.Disconnect();
      window.Rewind();
    }
    for (std::uint64_t i = random.Below(5); i > 0 && !server.answers.empty(); --i) {
      const SendWindow::Outcome outcome = window.OnAnswer(server.answers.front());
      server.answers.pop_front();
      if (outcome.kind == Kind::kLoaded) loaded += outcome.records;
      if (outcome.kind == Kind::kRefused) refused.push_back(outcome.line);
    }
    if (window.round_over()) window.Rewind();
  }
  CHECK(server.records == expected);
  CHECK(refused == to_refuse);
  CHECK(loaded == kLines - to_refuse.size());
}

}  // namespace
}  // namespace stout::blowfish
