#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "call_queue.h"
#include "gateway.h"
#include "keys.h"
#include "stout/adapters/etcd_leases.h"
#include "stout/lease_feed.h"

namespace stout {

// The connections of a lease service, and its watch. All of it runs on a strand; it outlives the
// service until its coroutines have ended.
class EtcdLeases::Engine : public std::enable_shared_from_this<Engine> {
 public:
  Engine(EtcdLeasesOptions options, const boost::asio::any_io_executor& executor);

  // All from any thread.
  void Start();
  [[nodiscard]] LeaseService::Watch WatchTable(LeaseService::TableHandler handler);
  void Close();

  [[nodiscard]] const etcd::Keys& keys() const { return keys_; }
  [[nodiscard]] etcd::CallQueue& renewals() { return renewals_; }
  [[nodiscard]] etcd::CallQueue& changes() { return changes_; }

  // On the strand: as the cluster has it, once anybody has joined through this.
  std::optional<etcd::Deployment> deployment;

 private:
  boost::asio::awaitable<void> Follow();
  // Reads everything, then what changes, until that ends.
  boost::asio::awaitable<void> FollowOnce();
  [[nodiscard]] bool ReadEverything(const etcd::Reply& reply);
  // False: the watch is over.
  [[nodiscard]] bool Apply(const boost::json::value& message);

  const EtcdLeasesOptions options_;
  const etcd::Keys keys_;
  const boost::asio::any_io_executor strand_;
  etcd::CallQueue renewals_;
  etcd::CallQueue changes_;
  LeaseFeed feed_;

  // On the strand.
  etcd::Gateway watch_;
  boost::asio::steady_timer pause_;
  etcd::Entries entries_;
  etcd::Revision revision_ = 0;  // Of entries_.
  bool watching_ = false;
  bool closed_ = false;
};

}  // namespace stout
