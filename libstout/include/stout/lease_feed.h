#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "stout/lease_service.h"

namespace stout::inline v1 {

/// Hands the newest table of a lease service to its watchers. Lease services are built on it.
///
/// Handlers run on the executor, one at a time, never inside a call of the feed. A table that is
/// replaced before it was handed out is skipped.
/// Owner: the executor's context must outlive it.   Threads: any.
class LeaseFeed {
 public:
  explicit LeaseFeed(const boost::asio::any_io_executor& executor);
  LeaseFeed(const LeaseFeed&) = delete;
  LeaseFeed& operator=(const LeaseFeed&) = delete;
  /// No handler is called after it. A handler that is already running may still end.
  ~LeaseFeed();

  /// Does nothing if `table` equals the table that was published last.
  void Publish(LeaseTable table);
  [[nodiscard]] LeaseService::Watch Watch(LeaseService::TableHandler handler);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace stout::inline v1
