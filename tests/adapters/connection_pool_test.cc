// A pool after a connection, or a job, has thrown.
#include "stout/adapters/connection_pool.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "stout/adapters/reconnection.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

namespace asio = boost::asio;

enum class Throws { kNothing, kException, kOther };

void Throw(Throws what) {
  if (what == Throws::kException) throw std::bad_alloc();
  if (what == Throws::kOther) throw 7;
}

// Counts the calls of all connections.
struct ConnectionCalls {
  int connect = 0;
  int drop = 0;
  int close = 0;
  int destroyed = 0;
  bool cut = false;  // no connection is usable any more
};

class FailingConnection {
 public:
  FailingConnection(ConnectionCalls& calls, Throws& throws) : calls_(calls), throws_(throws) {}
  ~FailingConnection() { ++calls_.destroyed; }

  asio::awaitable<std::string> Connect() {
    ++calls_.connect;
    Throw(throws_);
    open_ = true;
    co_return std::string();
  }
  [[nodiscard]] bool Usable() const { return open_ && !calls_.cut; }
  void Drop() {
    ++calls_.drop;
    open_ = false;
  }
  void Close() { ++calls_.close; }

 private:
  ConnectionCalls& calls_;
  Throws& throws_;
  bool open_ = false;
};

// A pool of one connection, in which one call may wait or run.
class ConnectionPoolTest {
 protected:
  using Pool = ConnectionPool<FailingConnection>;

  // Returns false if the pool takes no more calls.
  [[nodiscard]] bool Call(Throws throws = Throws::kNothing) {
    const bool taken =
        pool_->Submit([this, throws](FailingConnection* with) -> asio::awaitable<void> {
          had_connection_.push_back(with != nullptr);
          Throw(throws);
          co_return;
        });
    Run();
    return taken;
  }
  void Run() {
    context_.restart();
    context_.poll();
  }

  ConnectionCalls calls_;
  Throws connect_throws_ = Throws::kNothing;
  std::vector<bool> had_connection_;  // by call
  asio::io_context context_;
  std::shared_ptr<Pool> pool_ = std::make_shared<Pool>(
      context_.get_executor(), Pool::Options{.connections = 1, .max_queue = 1},
      std::make_shared<Reconnection>("test"),
      [this] { return std::make_unique<FailingConnection>(calls_, connect_throws_); });
};

}  // namespace

TEST_CASE_METHOD(ConnectionPoolTest,
                 "connection pool: a connection that throws when it connects counts as away") {
  connect_throws_ = GENERATE(Throws::kException, Throws::kOther);
  CHECK(Call());
  CHECK(had_connection_ == std::vector{false});
  CHECK(calls_.drop == 1);
  CHECK(pool_->HasIdle());
  CHECK(Call());
  CHECK(had_connection_.size() == 2);
  pool_->Close();
  Run();
  CHECK(calls_.close == 0);  // none is at work
}

TEST_CASE_METHOD(ConnectionPoolTest, "connection pool: a job that throws costs its connection") {
  const Throws throws = GENERATE(Throws::kException, Throws::kOther);
  CHECK(Call(throws));
  CHECK(calls_.drop == 1);
  CHECK(pool_->HasIdle());
  CHECK(Call());
  CHECK(had_connection_ == std::vector{true, true});
  CHECK(calls_.connect == 2);
  pool_->Close();
  Run();
  CHECK(calls_.close == 0);
}

TEST_CASE_METHOD(ConnectionPoolTest,
                 "connection pool: idle connections go with one that the server has ended") {
  const auto pool = std::make_shared<Pool>(
      context_.get_executor(), Pool::Options{.connections = 2, .max_queue = 2},
      std::make_shared<Reconnection>("test"),
      [this] { return std::make_unique<FailingConnection>(calls_, connect_throws_); });
  const auto call = [&] {
    return pool->Submit([this](FailingConnection*) -> asio::awaitable<void> {
      co_await asio::post(context_, asio::use_awaitable);
    });
  };
  CHECK((call() && call()));
  Run();
  CHECK(calls_.connect == 2);
  calls_.cut = true;
  connect_throws_ = Throws::kException;
  CHECK(call());
  Run();
  CHECK(calls_.destroyed == 1);
}

}  // namespace stout::test
