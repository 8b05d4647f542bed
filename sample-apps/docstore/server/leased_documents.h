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
  /// That the documents are cut into; the same for all servers of a store. >= 1.
  RangeId ranges = 16;
  /// A server that does not renew its leases within this time loses them.
  Duration ttl = std::chrono::seconds(10);
  /// After it has left, a server redirects late requests for this time, until all routers know of
  /// it.
  Duration farewell = std::chrono::seconds(1);
  /// Time for a range to be flushed, and then to be drained. After it the range is handed over
  /// without its unwritten changes, and their answers report an unknown outcome. > 0.
  Duration handover_timeout = std::chrono::seconds(10);
};

/// The documents of the ranges that this server holds a lease of. The shard of a range is opened
/// when the range is acquired and closed when it goes.
///
/// States of a range:
/// - acquired: the store fences the former owner, then the shard opens;
/// - served;
/// - released: flushed while it is served, then drained, within handover_timeout;
/// - lost: every held answer fails.
///
/// Invariant: a shard answers from memory only while this server certainly holds the lease under
/// whose epoch the shard was opened.
///
/// If the store does not answer for twice the ttl, the membership ends: all ranges are lost to
/// other servers, and none is taken until the store answers again.
///
/// A request for a document that is not served here gets 421 with the owner's address, or 503 with
/// Retry-After while there is no other owner. Both report that nothing was done.
///
/// Owner: refers to store and leases, which outlive it.   Threads: any.
class LeasedDocuments final : public Documents {
 public:
  LeasedDocuments(const boost::asio::any_io_executor& executor, Store& store, LeaseService& leases,
                  const DocumentsOptions& options, const LeaseOptions& lease_options);
  ~LeasedDocuments() override;

  /// Joins as `address`, and is done at once: ranges come when they come.
  void Open(const std::string& address, Done done) override;
  void Handle(DocumentRequest request, http::Respond respond) override;
  void Collect(UniqueFunction<void(std::vector<ShardSnapshot>)> done) override;
  /// 503 while this server is no member, or while its store does not answer.
  void Health(http::Respond respond) override;
  /// Hands over every range, leaves, and says farewell.
  void Leave(UniqueFunction<void()> done) override;
  /// After Leave there is nothing left to drain.
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
  /// The store refuses it under this epoch.
  void OnUnusable(RangeId range, Epoch epoch, ErrorCode ec);

  /// Looks at the store's health again and again; on the manager's strand.
  void Check();

  [[nodiscard]] RangeId RangeFor(const std::string& document) const;
  [[nodiscard]] bool IsOurs(RangeId range, Epoch epoch) const;
  [[nodiscard]] http::Response NotServed(RangeId range, const DocumentRequest& request) const;
  /// What the slot holds, if it does so under this epoch; the slot is then empty.
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
  // Shared with the probe under way, which may end after the destructor.
  mutable std::mutex mutex_;
  std::vector<Slot> slots_;  // by range
  bool closed_ = false;
};

}  // namespace stout::docstore
