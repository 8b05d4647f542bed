#include "transaction_queue.h"

#include <spdlog/spdlog.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

namespace stout::postgres {
namespace {

namespace asio = boost::asio;
constexpr auto kNoThrow = asio::as_tuple(asio::use_awaitable);

// A manager has one request for each range on its way at most, of 65536 ranges.
constexpr std::size_t kMaxWaiting = 100'000;

}  // namespace

TransactionQueue::TransactionQueue(const PostgresOptions& options,
                                   std::vector<const Statement*> statements,
                                   const asio::any_io_executor& strand)
    : strand_(strand), connection_(options, std::move(statements), strand), idle_(strand) {}

void TransactionQueue::Start(std::shared_ptr<void> owner) {
  asio::co_spawn(strand_, Work(), [owner = std::move(owner)](const std::exception_ptr& thrown) {
    if (thrown) std::rethrow_exception(thrown);
  });
}

void TransactionQueue::Submit(std::vector<Query> queries, Handler handler) {
  if (closed_) return;
  if (waiting_.size() >= kMaxWaiting) return handler({Errc::kTransient});
  waiting_.push_back({std::move(queries), std::move(handler)});
  idle_.cancel();
}

asio::awaitable<void> TransactionQueue::Work() {
  while (!closed_) {
    if (waiting_.empty()) {
      idle_.expires_at(asio::steady_timer::time_point::max());
      co_await idle_.async_wait(kNoThrow);
      continue;
    }
    bool usable = connection_.Usable();
    if (!usable) usable = co_await Connect();
    if (closed_) break;
    if (!usable) {
      FailAll();
      continue;
    }
    Transaction transaction = std::move(waiting_.front());
    waiting_.pop_front();
    Outcome outcome = co_await connection_.Run(transaction.queries);
    transaction.handler(std::move(outcome));
  }
}

// All at once: those who wait have waited for this connection.
void TransactionQueue::FailAll() {
  for (Transaction& transaction : std::exchange(waiting_, {})) {
    transaction.handler({Errc::kTransient});
  }
}

asio::awaitable<bool> TransactionQueue::Connect() {
  std::string error = co_await connection_.Connect();
  if (closed_) co_return false;
  if (error != last_error_) {
    if (error.empty()) {
      spdlog::info("postgres leases: connected again");
    } else {
      spdlog::warn("postgres leases: {}", error);
    }
  }
  last_error_ = std::move(error);
  co_return last_error_.empty();
}

void TransactionQueue::Close() {
  closed_ = true;
  waiting_.clear();
  connection_.Close();
  idle_.cancel();
}

}  // namespace stout::postgres
