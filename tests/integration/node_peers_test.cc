// Goal: a range that does not answer holds up no commands for other ranges of the same node.
// Method: a scripted node that leaves commands of one range without an answer.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "node/peers.h"
#include "tests/adapters/scripted_resp_server.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/log_capture.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using test::ScriptedRespServer;

// Answers with the last word, but never answers GET "silent".
ScriptedRespServer::Answer AnswerAllBut(const ScriptedRespServer::Command& command) {
  if (command.back() == "silent") return {};
  return {test::Bulk(command.back())};
}

class Caller {
 public:
  Caller() : server_(AnswerAllBut), address_("127.0.0.1:" + std::to_string(server_.port())) {}

  // Sends a GET of a key, whose answer is added to `answers`.
  void Get(RangeId range, std::string key) {
    asio::co_spawn(context_, Send(range, std::move(key)), asio::detached);
  }
  // Returns true if this number of answers comes.
  bool Await(std::size_t count) {
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (answers.size() < count && std::chrono::steady_clock::now() < deadline) {
      context_.restart();  // it ends when it has nothing to do
      context_.run_for(10ms);
    }
    return answers.size() == count;
  }
  void RunFor(Duration time) { context_.run_for(time); }
  [[nodiscard]] ScriptedRespServer& server() { return server_; }
  // Sends a GET by a connection of its own. Adds the answer to `answers`.
  void GetAlone(std::string key, Duration timeout) {
    asio::co_spawn(context_, SendAlone(std::move(key), timeout), asio::detached);
  }

  std::vector<std::string> answers;

 private:
  asio::awaitable<void> SendAlone(std::string key, Duration timeout) {
    resp::Commands commands;
    commands.Add({"GET", key});
    const resp::Outcome outcome = co_await peers_.RunAlone(
        address_, [&](Duration) { return std::move(commands); }, timeout);
    answers.push_back(outcome.message);
  }
  asio::awaitable<void> Send(RangeId range, std::string key) {
    resp::Commands commands;
    commands.Add({"GET", key});
    const resp::Outcome outcome = co_await peers_.Run(address_, range, commands);
    answers.push_back(outcome.errc == Errc::kOk ? outcome.replies.at(0).text : outcome.message);
  }

  ScriptedRespServer server_;
  const std::string address_;
  asio::io_context context_;
  Peers peers_{context_.get_executor(), "", 1min, 8};
};

TEST_CASE("a range that does not answer holds up no other range", "[node][peers]") {
  Caller caller;
  for (int i = 0; i < 140; ++i) {
    caller.Get(static_cast<RangeId>(i % 7), "silent");
    caller.RunFor(1ms);
  }
  for (int i = 0; i < 10; ++i) caller.Get(7, "a");
  CHECK(caller.Await(10));
  CHECK(std::ranges::count(caller.answers, "a") == 10);
}

TEST_CASE("commands that wait for a connection are sent when one is answered", "[node][peers]") {
  Caller caller;
  for (int i = 0; i < 1000; ++i) caller.Get(static_cast<RangeId>(i % 8), std::to_string(i));
  REQUIRE(caller.Await(1000));
  std::ranges::sort(caller.answers, {}, [](const std::string& text) { return std::stoi(text); });
  for (int i = 0; i < 1000; ++i)
    CHECK(caller.answers[static_cast<std::size_t>(i)] == std::to_string(i));
}

TEST_CASE("a command of its own connection is given up after its own time", "[node][peers]") {
  Caller caller;
  caller.GetAlone("silent", 10ms);  // other commands have a minute
  CHECK(caller.Await(1));
  caller.server().Follow([](const ScriptedRespServer::Command&) -> ScriptedRespServer::Answer {
    return {};  // not even to the greeting
  });
  caller.GetAlone("a", 10ms);
  CHECK(caller.Await(2));
}

TEST_CASE("commands of own connections take few connections to a node", "[node][peers]") {
  Caller caller;
  for (int i = 0; i < 200; ++i) caller.GetAlone("silent", 300ms);
  REQUIRE(caller.Await(200));
  CHECK(caller.server().connections() <= 64);
  caller.answers.clear();
  for (int i = 0; i < 200; ++i) caller.GetAlone("a", 10s);
  REQUIRE(caller.Await(200));
  CHECK(std::ranges::count(caller.answers, "") == 200);  // no error
}

TEST_CASE("a node that cannot be reached is logged again after it was reached", "[node][peers]") {
  const auto refuses = [](const ScriptedRespServer::Command&) -> ScriptedRespServer::Answer {
    return {"-ERR max number of clients reached\r\n", true};
  };
  const test::LogCapture log;
  Caller caller;
  const auto get = [&] {
    caller.Get(0, "a");
    REQUIRE(caller.Await(caller.answers.size() + 1));
  };
  caller.server().Follow(refuses);
  get();
  get();
  CHECK(log.Count("max number of clients") == 1);
  caller.server().Follow(AnswerAllBut);
  get();
  CHECK(caller.answers.back() == "a");
  caller.server().Follow(refuses);
  caller.server().Cut();
  get();
  CHECK(log.Count("max number of clients") == 2);
}

}  // namespace
}  // namespace stout::node
