#include "engine.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace stout {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
constexpr auto kNoThrow = asio::as_tuple(asio::use_awaitable);

// The lanes have a back-off of their own; this one keeps them from connecting in turns.
std::chrono::milliseconds BackOff(std::size_t failures) {
  return std::min(50ms * (1 << std::min<std::size_t>(failures, 6)), 2000ms);
}

}  // namespace

PostgresStore::Engine::Engine(PostgresOptions options, postgres::Schema schema,
                              const asio::any_io_executor& executor)
    : options_(std::move(options)),
      schema_(std::move(schema)),
      strand_(asio::make_strand(executor)),
      writers_{options_.connections},
      readers_{options_.read_connections},
      collect_timer_(strand_) {}

bool PostgresStore::Engine::Submit(Kind kind, Job job) {
  if (calls_.fetch_add(1, std::memory_order_relaxed) >= options_.max_queue) {
    calls_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  asio::post(strand_, [self = shared_from_this(), kind, job = std::move(job)]() mutable {
    self->Admit(kind == Kind::kWrite ? self->writers_ : self->readers_, std::move(job));
  });
  return true;
}

void PostgresStore::Engine::Admit(Pool& pool, Job job) {
  if (closed_) return;
  pool.waiting.push_back(std::move(job));
  if (!pool.idle.empty()) {
    pool.idle.back()->cancel();
    pool.idle.pop_back();
  } else if (pool.workers < pool.most) {
    ++pool.workers;
    asio::co_spawn(
        strand_, [self = shared_from_this(), &pool] { return self->Work(pool); }, asio::detached);
  }
}

asio::awaitable<void> PostgresStore::Engine::Work(Pool& pool) {
  postgres::Connection connection(options_, schema_.statements(), strand_);
  asio::steady_timer idle(strand_);
  connections_.push_back(&connection);
  while (!closed_) {
    if (pool.waiting.empty()) {
      pool.idle.push_back(&idle);
      idle.expires_at(asio::steady_timer::time_point::max());
      co_await idle.async_wait(kNoThrow);
      continue;
    }
    bool usable = connection.Usable();
    if (!usable) usable = co_await Connect(connection);
    if (closed_) break;
    // Another worker has a connection and will come to what waits.
    if (!usable && pool.working > 0) break;
    if (pool.waiting.empty()) continue;
    Job job = std::move(pool.waiting.front());
    pool.waiting.pop_front();
    ++pool.working;
    try {
      co_await job(usable ? &connection : nullptr);
    } catch (const std::exception& error) {  // out of memory, or a handler that throws
      spdlog::error("postgres: {}", error.what());
      connection.Drop();
    }
    --pool.working;
    calls_.fetch_sub(1, std::memory_order_relaxed);
  }
  --pool.workers;
  std::erase(connections_, &connection);
}

asio::awaitable<bool> PostgresStore::Engine::Connect(postgres::Connection& connection) {
  if (asio::steady_timer::clock_type::now() < retry_at_) co_return false;
  std::string error = co_await connection.Connect();
  if (closed_) co_return false;
  if (!error.empty()) {
    retry_at_ = asio::steady_timer::clock_type::now() + BackOff(failures_++);
    if (error != last_error_) spdlog::warn("postgres: {}", error);
    last_error_ = std::move(error);
    co_return false;
  }
  if (failures_ > 0) spdlog::info("postgres: connected again");
  failures_ = 0;
  last_error_.clear();
  if (schema_.own && !std::exchange(collecting_, true)) {
    asio::co_spawn(
        strand_, [self = shared_from_this()] { return self->CollectTombstones(); }, asio::detached);
  }
  co_return true;
}

// Any of the servers that share the table does it for all; SKIP LOCKED keeps them apart.
asio::awaitable<void> PostgresStore::Engine::CollectTombstones() {
  const auto age = std::chrono::ceil<std::chrono::seconds>(options_.tombstone_ttl);
  const auto pause = std::clamp<std::chrono::milliseconds>(age / 4, 1s, 10min);
  while (!closed_) {
    collect_timer_.expires_after(pause);
    co_await collect_timer_.async_wait(kNoThrow);
    if (closed_) co_return;
    (void)Submit(Kind::kWrite, [this, age](postgres::Connection* with) -> asio::awaitable<void> {
      std::vector<postgres::Query> queries(1, postgres::Query{&schema_.collect});
      queries[0].parameters.push_back(postgres::Int8(age.count()));
      while (with != nullptr && !closed_) {
        const postgres::Outcome outcome = co_await with->Run(queries);
        if (outcome.errc != Errc::kOk ||
            postgres::RowsTouched(outcome.results[0]) < postgres::kCollectRows) {
          break;
        }
      }
    });
  }
}

void PostgresStore::Engine::Close() {
  asio::post(strand_, [self = shared_from_this()] {
    self->closed_ = true;
    self->writers_.waiting.clear();
    self->readers_.waiting.clear();
    for (postgres::Connection* connection : self->connections_) connection->Close();
    for (Pool* pool : {&self->writers_, &self->readers_}) {
      for (asio::steady_timer* idle : pool->idle) idle->cancel();
    }
    self->collect_timer_.cancel();
  });
}

}  // namespace stout
