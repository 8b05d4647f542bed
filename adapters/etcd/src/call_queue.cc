#include "call_queue.h"

#include <spdlog/spdlog.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

namespace stout::etcd {
namespace {

namespace asio = boost::asio;
constexpr auto kNoThrow = asio::as_tuple(asio::use_awaitable);

// A manager has one request for each range on its way at most, of 65536 ranges.
constexpr std::size_t kMaxJobs = 100'000;

}  // namespace

CallQueue::CallQueue(const std::vector<std::string>& endpoints, Duration timeout,
                     const asio::any_io_executor& strand)
    : strand_(strand), gateway_(endpoints, timeout, strand), idle_(strand) {}

void CallQueue::Start(std::shared_ptr<void> owner) {
  owner_ = owner;
  asio::co_spawn(strand_, Work(), [owner = std::move(owner)](const std::exception_ptr& thrown) {
    if (thrown) std::rethrow_exception(thrown);
  });
}

bool CallQueue::Submit(Job job) {
  if (jobs_.fetch_add(1, std::memory_order_relaxed) >= kMaxJobs) {
    jobs_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  asio::post(strand_, [this, owner = owner_.lock(), job = std::move(job)]() mutable {
    if (closed_) return;
    waiting_.push_back(std::move(job));
    idle_.cancel();
  });
  return true;
}

asio::awaitable<void> CallQueue::Work() {
  while (!closed_) {
    if (waiting_.empty()) {
      idle_.expires_at(asio::steady_timer::time_point::max());
      co_await idle_.async_wait(kNoThrow);
      continue;
    }
    const bool connected = co_await gateway_.Connect();
    if (closed_) break;
    LogConnection(connected);
    // Those who wait have all waited for this connection: they fail together.
    std::deque<Job> jobs;
    if (connected) {
      jobs.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    } else {
      jobs.swap(waiting_);
    }
    for (Job& job : jobs) {
      co_await job(connected ? &gateway_ : nullptr);
      jobs_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
}

void CallQueue::LogConnection(bool connected) {
  const std::string error = connected ? "" : gateway_.error();
  if (error == last_error_) return;
  if (connected) {
    spdlog::info("etcd: connected again");
  } else {
    spdlog::warn("etcd: {}", error);
  }
  last_error_ = error;
}

void CallQueue::Close() {
  closed_ = true;
  waiting_.clear();
  gateway_.Close();
  idle_.cancel();
}

}  // namespace stout::etcd
