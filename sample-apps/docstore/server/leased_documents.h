#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/document_shard.h"
#include "server/documents.h"
#include "stout/lease_service.h"
#include "stout/leases.h"
#include "stout/store.h"

namespace stout::docstore {

/// How servers share the documents of one store.
struct LeaseOptions {
  /// Number of ranges of the documents. It is the same for all servers of a store. >= 1.
  RangeId ranges = 16;
  /// Time to live of the leases. A server that does not renew its leases within it loses them.
  Duration ttl = std::chrono::seconds(10);
  /// Time for which a server redirects late requests after it has left. Within it, all routers
  /// learn that the server has left.
  Duration farewell = std::chrono::seconds(1);
  /// Maximum time to flush a range, and again to drain it. After it, the range is handed over
  /// without its unwritten changes, and their answers report an unknown outcome. > 0.
  Duration handover_timeout = std::chrono::seconds(10);
};

/// The documents of the ranges that this server leases. The shard of a range opens when the range
/// is acquired, and closes when the range is released or lost.
///
/// States of a range:
/// - acquired: the store fences the former owner, then the shard opens;
/// - served;
/// - released: flushed while it is served, then drained, each within handover_timeout;
/// - lost: every held answer fails.
///
/// Invariant: a shard answers from memory only while this server certainly holds the lease under
/// whose epoch the shard was opened.
///
/// If the store does not answer for twice the ttl, the membership ends. Other servers take all
/// ranges, and this server takes none until the store answers again.
///
/// A request for a document that is not served here gets 421 with the owner's address. While there
/// is no other owner, it gets 503 with Retry-After. Both mean that nothing was done.
///
/// Owner: refers to store and leases, which outlive it.   Threads: any.
class LeasedDocuments final : public Documents {
 public:
  LeasedDocuments(const boost::asio::any_io_executor& executor, Store& store, LeaseService& leases,
                  const DocumentsOptions& options, const LeaseOptions& lease_options);
  ~LeasedDocuments() override;

  /// Joins as `address`, and calls `done` at once. Ranges are acquired later.
  void Open(const std::string& address, Done done) override;
  void Handle(DocumentRequest request, http::Respond respond) override;
  void Collect(UniqueFunction<void(std::vector<ShardSnapshot>)> done) override;
  /// Answers 503 while this server is not a member, or while its store does not answer.
  void Health(http::Respond respond) override;
  /// Hands over every range, leaves the deployment, and waits for `farewell`.
  void Leave(UniqueFunction<void()> done) override;
  /// Has no effect, because Leave has handed over every range.
  void Drain(Done done) override { done({}); }
  void Close(Done done) override;

 private:
  struct Slot {
    std::shared_ptr<DocumentShard> shard;  // null: not ours
    Epoch epoch = 0;
    bool serving = false;  // open, and not being handed over
  };
  struct Opening;
  struct Handover;

  void OnAcquired(RangeId range, Epoch epoch);
  void OnRelease(RangeId range, LeaseHandlers::Done done);
  void OnLost(RangeId range);

  // A hand-over; all on the manager's strand.
  void Limit(const std::shared_ptr<Handover>& handover);
  void DrainFlushed();
  void DrainShard(const std::shared_ptr<Handover>& handover);
  void EndHandover(const std::shared_ptr<Handover>& handover, ErrorCode ec);
  void CutHandover(const std::shared_ptr<Handover>& handover);

  void OpenShard(std::shared_ptr<Opening> opening);
  void OnOpened(std::shared_ptr<Opening> opening, ErrorCode ec);
  /// Gives up the range, because the store refuses it under this epoch.
  void OnUnusable(RangeId range, Epoch epoch, ErrorCode ec);

  /// Checks the store's health, and repeats this with a timer. Runs on the manager's strand.
  void Check();

  [[nodiscard]] RangeId RangeFor(const std::string& document) const;
  [[nodiscard]] bool IsOurs(RangeId range, Epoch epoch) const;
  [[nodiscard]] http::Response NotServed(RangeId range, const DocumentRequest& request) const;
  /// Removes the shard from its slot and returns it. Returns null if `epoch` is not the slot's
  /// epoch.
  [[nodiscard]] std::shared_ptr<DocumentShard> TakeOut(RangeId range, std::optional<Epoch> epoch);

  const boost::asio::any_io_executor executor_;
  WatchedStore store_;
  LeaseService& service_;
  const DocumentsOptions options_;
  const std::shared_ptr<std::atomic<std::size_t>> lent_bytes_ =
      std::make_shared<std::atomic<std::size_t>>(0);
  const LeaseOptions lease_options_;
  std::string address_;
  std::unique_ptr<LeaseManager> manager_;
  std::atomic<LeaseManager*> leases_ = nullptr;       // manager_, once there is one
  std::optional<boost::asio::steady_timer> check_;    // on the manager's strand
  std::vector<std::shared_ptr<Handover>> handovers_;  // on the manager's strand
  bool leaving_ = false;                              // on the manager's strand
  bool suspended_ = false;                            // on the manager's strand
  // Guards slots_ and closed_.
  mutable std::mutex mutex_;
  std::vector<Slot> slots_;  // by range
  bool closed_ = false;
};

}  // namespace stout::docstore
