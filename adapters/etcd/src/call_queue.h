#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "gateway.h"
#include "stout/unique_function.h"

namespace stout::etcd {

// Runs jobs one after the other, on a strand, with a connection that is made when it is needed.
class CallQueue {
 public:
  // What a call does with the connection; null: there is none.
  using Job = UniqueFunction<boost::asio::awaitable<void>(Gateway*)>;

  // `endpoints` must outlive it.
  CallQueue(const std::vector<std::string>& endpoints, Duration timeout,
            const boost::asio::any_io_executor& strand);

  // First. `owner`, whose part it is, lives until the queue has ended.
  void Start(std::shared_ptr<void> owner);
  // From any thread. False: too much waits already, and the job is not run.
  [[nodiscard]] bool Submit(Job job);
  // On the strand: ends the connection. What waits is dropped.
  void Close();

 private:
  boost::asio::awaitable<void> Work();
  void LogConnection(bool connected);

  const boost::asio::any_io_executor strand_;
  std::weak_ptr<void> owner_;
  std::atomic<std::size_t> jobs_{0};  // Waiting or running.

  // On the strand.
  Gateway gateway_;
  boost::asio::steady_timer idle_;
  std::deque<Job> waiting_;
  std::string last_error_;  // What the log has been told.
  bool closed_ = false;
};

}  // namespace stout::etcd
