#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "gateway.h"
#include "keys.h"
#include "stout/adapters/etcd_leases.h"
#include "stout/adapters/lease_pool.h"
#include "stout/feed.h"

namespace stout {

// The connections of a lease service, and its watch. All of it runs on a strand; it outlives the
// service until its coroutines have ended.
class EtcdLeases::Engine : public std::enable_shared_from_this<Engine> {
 public:
  // Each kind has a connection of its own, so that renewals never wait for changes.
  enum class Kind { kRenewal, kChange };

  Engine(EtcdLeasesOptions options, const boost::asio::any_io_executor& executor);

  // All from any thread.
  // Answers with what the coroutine `work(engine, gateway)` returns. kTransient: no connection, or
  // too much waits already.
  template <typename T, typename Work>
  void Start(Kind kind, const std::shared_ptr<PendingCall<T>>& call, Work work);
  [[nodiscard]] LeaseService::Watch WatchTable(LeaseService::TableHandler handler);
  [[nodiscard]] LeaseService::Watch WatchRecords(Registry::TableHandler handler);
  void Close();

  [[nodiscard]] const etcd::Keys& keys() const { return keys_; }
  [[nodiscard]] const EtcdLeasesOptions& options() const { return *options_; }
  [[nodiscard]] const boost::asio::any_io_executor& executor() const { return executor_; }

  // On the strand: the cluster's record, once a member has joined through this engine.
  std::optional<etcd::Deployment> deployment;

 private:
  using Pool = ConnectionPool<etcd::Gateway>;

  void BeginToFollow();
  boost::asio::awaitable<void> Follow();
  // Reads everything, then what changes, until that ends.
  boost::asio::awaitable<void> FollowOnce();
  void PublishRecords();
  // The deployment is a table that was dropped. A node does not use its name again.
  [[nodiscard]] bool IsGone() const { return seen_ && entries_.empty() && keys_.IsOfTable(); }
  // False: the watch is over.
  [[nodiscard]] bool Apply(const boost::json::value& message);

  const std::shared_ptr<const EtcdLeasesOptions> options_;  // Connections refer to it.
  const etcd::Keys keys_;
  const boost::asio::any_io_executor executor_;
  const boost::asio::any_io_executor strand_;
  std::shared_ptr<Pool> renewals_;
  std::shared_ptr<Pool> changes_;
  Feed<LeaseTable> leases_;
  Feed<RegistryTable> records_;

  // On the strand.
  etcd::Gateway watch_;
  boost::asio::steady_timer pause_;
  etcd::Entries entries_;
  Revision revision_ = 0;  // of entries_
  RegistryTable table_;    // the records in entries_, since they are watched
  bool watching_ = false;
  bool seen_ = false;  // it has had keys
  bool records_watched_ = false;
  bool closed_ = false;
};

template <typename T, typename Work>
void EtcdLeases::Engine::Start(Kind kind, const std::shared_ptr<PendingCall<T>>& call, Work work) {
  const auto& pool = kind == Kind::kRenewal ? renewals_ : changes_;
  // Weak while it waits: the engine owns the pool, and if an executor is stopped first, a strong
  // pointer would leave a cycle. Calls that wait when the engine is gone have been answered.
  const bool taken = pool->Submit([weak = weak_from_this(), call, work = std::move(work)](
                                      etcd::Gateway* gateway) -> boost::asio::awaitable<void> {
    const auto self = weak.lock();
    if (self == nullptr) co_return;
    if (gateway == nullptr) {
      call->Answer(T{Errc::kTransient});
    } else {
      T result = co_await work(*self, *gateway);
      call->Answer(std::move(result));
    }
  });
  if (!taken) call->Answer(T{Errc::kTransient});
}

}  // namespace stout
