// Requests that wait for a connection go together.
#include "stout/adapters/pipeline.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "stout/adapters/no_throw.h"
#include "stout/adapters/reconnection.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

namespace asio = boost::asio;

struct Request {
  int number;
  std::size_t bytes = 100;
  bool alone = false;
};

// A connection whose round trips end when the test says so.
class Connection {
 public:
  explicit Connection(asio::io_context& context) : ended_(context) {}

  asio::awaitable<std::string> Connect() {
    open_ = true;
    co_return std::string();
  }
  [[nodiscard]] bool Usable() const { return open_; }
  void Drop() { open_ = false; }
  void Close() { ended_.cancel(); }

  asio::awaitable<void> AwaitEnd() {
    ended_.expires_at(asio::steady_timer::time_point::max());
    co_await ended_.async_wait(kNoThrow);
  }
  void End() { ended_.cancel(); }

 private:
  asio::steady_timer ended_;
  bool open_ = false;
};

using Numbers = std::vector<int>;

class PipelineTest {
 protected:
  using Tested = Pipeline<Connection, Request, int>;
  static constexpr int kNotSent = -1;
  static constexpr int kUnknown = -2;

  void Make(std::size_t connections, std::size_t max_queue = 100) {
    pool_ = std::make_shared<ConnectionPool<Connection>>(
        context_.get_executor(),
        ConnectionPool<Connection>::Options{.connections = connections, .max_queue = 100},
        std::make_shared<Reconnection>("test"),
        [this] { return std::make_unique<Connection>(context_); });
    pipeline_.emplace(
        pool_,
        [this](Connection& with, Tested::Requests requests) -> asio::awaitable<std::vector<int>> {
          Numbers numbers;
          for (const Request* request : requests) numbers.push_back(request->number);
          trips_.push_back({numbers, &with});
          co_await with.AwaitEnd();
          if (fails_) throw std::runtime_error("a test");
          for (int& number : numbers) number *= 10;
          co_return numbers;
        },
        Tested::Options{max_queue, kNotSent, kUnknown});
  }
  void Send(Request request) {
    const int number = request.number;
    pipeline_->Submit(request, [this, number](int answer) { answers_[number] = answer; });
  }
  void SendAll(const Numbers& numbers) {
    for (const int number : numbers) Send(Request{number});
    Run();
  }
  void Run() {
    context_.restart();
    context_.poll();
  }
  // Returns the requests of each round trip that has begun since the last call.
  std::vector<Numbers> Begun() {
    std::vector<Numbers> begun;
    for (; seen_ < trips_.size(); ++seen_) begun.push_back(trips_[seen_].numbers);
    return begun;
  }
  void End(std::size_t trip) {
    trips_[trip].on->End();
    Run();
  }

  struct Trip {
    Numbers numbers;
    Connection* on;
  };
  asio::io_context context_;
  std::shared_ptr<ConnectionPool<Connection>> pool_;
  std::optional<Tested> pipeline_;
  std::vector<Trip> trips_;
  std::size_t seen_ = 0;
  std::map<int, int> answers_;
  bool fails_ = false;
};

using Trips = std::vector<Numbers>;

}  // namespace

TEST_CASE_METHOD(PipelineTest, "pipeline: requests go together if all connections are at work") {
  Make(2);
  for (int round = 0; round < 2; ++round) {  // the connections are open in the second one
    const auto first = static_cast<std::size_t>(4 * round);
    SendAll({1, 2, 3});
    CHECK(Begun() == Trips{{1}, {2, 3}});
    SendAll({4, 5, 6});
    End(first + 1);
    CHECK(answers_ == std::map<int, int>{{2, 20}, {3, 30}});
    CHECK(Begun() == Trips{{4, 5, 6}});
    SendAll({7, 8});
    End(first);
    CHECK(Begun() == Trips{{7, 8}});
    End(first + 2);
    End(first + 3);
    CHECK(answers_.size() == 8);
    CHECK(answers_.at(8) == 80);
    answers_.clear();
  }
}

TEST_CASE_METHOD(PipelineTest, "pipeline: a large request and one that is measured go alone") {
  Make(1);
  SendAll({1});
  Send(Request{2});
  Send(Request{.number = 3, .bytes = 70'000});
  Send(Request{.number = 4, .bytes = 40'000});
  Send(Request{.number = 5, .bytes = 20'000});
  Send(Request{.number = 6, .bytes = 10'000});
  Send(Request{.number = 7, .alone = true});
  Send(Request{8});
  Send(Request{9});
  for (std::size_t trip = 0; trip < 7; ++trip) End(trip);
  CHECK(Begun() == Trips{{1}, {2}, {3}, {4, 5}, {6}, {7}, {8, 9}});
}

TEST_CASE_METHOD(PipelineTest, "pipeline: only requests that wait or run count for max_queue") {
  Make(1, 6);
  SendAll({1, 2, 3});
  for (int round = 0; round < 20; ++round) {
    SendAll({3 * round + 4, 3 * round + 5, 3 * round + 6});
    SendAll({0});
    REQUIRE(answers_.size() == static_cast<std::size_t>(3 * round + 1));
    CHECK(answers_.at(0) == kNotSent);
    answers_.erase(0);
    End(static_cast<std::size_t>(round));
  }
  End(20);
  CHECK(answers_.size() == 63);
  CHECK(answers_.at(63) == 630);
}

TEST_CASE_METHOD(PipelineTest, "pipeline: another job of the pool waits for one round trip") {
  Make(1);
  SendAll({1});
  SendAll({2, 3});
  bool ran = false;
  CHECK(pool_->Submit([&](Connection*) -> asio::awaitable<void> {
    ran = true;
    co_return;
  }));
  for (int number = 4; !ran && number < 100; ++number) {
    SendAll({number});
    End(static_cast<std::size_t>(number - 4));
  }
  Run();
  CHECK(ran);
  CHECK(trips_.size() <= 3);
}

TEST_CASE_METHOD(PipelineTest,
                 "pipeline: if the pool refuses, no request is left without an answer") {
  Make(1);
  SendAll({1});
  while (pool_->Submit([](Connection*) -> asio::awaitable<void> { co_return; })) continue;
  CHECK_THROWS(pipeline_->Submit({4}, [](int) { throw std::runtime_error("a test"); }));
  SendAll({2});
  CHECK(answers_ == std::map<int, int>{{2, kNotSent}});
  End(0);
  SendAll({3});
  End(1);
  CHECK(answers_ == std::map<int, int>{{1, 10}, {2, kNotSent}, {3, 30}});
}

TEST_CASE_METHOD(PipelineTest, "pipeline: a round trip that throws leaves its requests unknown") {
  Make(1);
  SendAll({1});
  SendAll({2, 3});
  fails_ = true;
  End(0);
  CHECK(answers_ == std::map<int, int>{{1, kUnknown}});
  fails_ = false;
  End(1);
  CHECK(answers_ == std::map<int, int>{{1, kUnknown}, {2, 20}, {3, 30}});
}

TEST_CASE_METHOD(PipelineTest, "pipeline: a handler that throws keeps no other from its answer") {
  Make(1);
  SendAll({1});
  pipeline_->Submit({2}, [](int) { throw std::runtime_error("a test"); });
  SendAll({3});
  End(0);
  CHECK(Begun() == Trips{{1}, {2, 3}});
  End(1);
  CHECK(answers_ == std::map<int, int>{{1, 10}, {3, 30}});
}

TEST_CASE_METHOD(PipelineTest, "pipeline: a handler may send another request") {
  Make(1);
  pipeline_->Submit({1}, [this](int) { Send(Request{2}); });
  Run();
  End(0);
  End(1);
  CHECK(answers_ == std::map<int, int>{{2, 20}});
}

TEST_CASE_METHOD(PipelineTest, "pipeline: requests that wait when it ends are not sent") {
  Make(2);
  SendAll({1, 2});
  SendAll({3});
  pipeline_.reset();
  End(1);
  End(0);
  CHECK(answers_ == std::map<int, int>{{1, 10}, {2, 20}});
  CHECK(trips_.size() == 2);
}

}  // namespace stout::test
