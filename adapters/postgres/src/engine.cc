#include "engine.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <utility>
#include <vector>

#include "stout/adapters/no_throw.h"

namespace stout {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

}  // namespace

PostgresStore::Engine::Engine(PostgresOptions options, postgres::Schema schema,
                              const asio::any_io_executor& executor)
    : settings_(std::make_shared<const Settings>(Settings{std::move(options), std::move(schema)})),
      strand_(asio::make_strand(executor)),
      collect_timer_(strand_) {
  // Shared: what one pool learns of the server, the other knows.
  const auto reconnection = std::make_shared<Reconnection>("postgres");
  const auto errors = std::make_shared<ErrorLog>();
  const auto make_pool = [&](std::size_t connections, Duration lock_timeout) {
    const auto shared = std::make_shared<postgres::SharedState>(postgres::SharedState{{}, errors});
    return std::make_shared<Pool>(
        strand_,
        Pool::Options{.connections = connections, .max_queue = settings_->options.max_queue},
        reconnection, [settings = settings_, strand = strand_, shared, lock_timeout] {
          return std::make_unique<postgres::Connection>(
              settings->options, lock_timeout, settings->schema.statements(), strand, shared);
        });
  };
  const PostgresOptions& limits = settings_->options;
  writers_ = make_pool(limits.connections, std::min(limits.lock_timeout, limits.timeout));
  readers_ = make_pool(limits.read_connections, limits.timeout);
}

// Weak while it waits: the engine owns the pool, and an executor that is stopped first would leave
// a cycle. A call that waits when the engine is gone has been answered.
bool PostgresStore::Engine::Submit(Kind kind, Job job) {
  const auto& pool = kind == Kind::kWrite ? writers_ : readers_;
  return pool->Submit([weak = weak_from_this(), job = std::move(job)](
                          postgres::Connection* connection) mutable -> asio::awaitable<void> {
    const auto self = weak.lock();
    if (self == nullptr) co_return;
    if (connection != nullptr) self->StartCollecting();
    co_await job(connection);
  });
}

void PostgresStore::Engine::StartCollecting() {
  if (!schema().own || closed_ || std::exchange(collecting_, true)) return;
  asio::co_spawn(
      strand_, [self = shared_from_this()] { return self->CollectTombstones(); }, asio::detached);
}

// Any of the servers that share the table does it for all; SKIP LOCKED keeps them apart.
asio::awaitable<void> PostgresStore::Engine::CollectTombstones() {
  const auto age = std::chrono::ceil<std::chrono::seconds>(settings_->options.tombstone_ttl);
  const auto pause = std::clamp<std::chrono::milliseconds>(age / 4, 1s, 10min);
  while (!closed_) {
    collect_timer_.expires_after(pause);
    co_await collect_timer_.async_wait(kNoThrow);
    if (closed_) co_return;
    (void)Submit(Kind::kWrite, [this, age](postgres::Connection* with) -> asio::awaitable<void> {
      std::vector<postgres::Query> queries(1, postgres::Query{&schema().collect});
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
  writers_->Close();
  readers_->Close();
  asio::post(strand_, [self = shared_from_this()] {
    self->closed_ = true;
    self->collect_timer_.cancel();
  });
}

}  // namespace stout
