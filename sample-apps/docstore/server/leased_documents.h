#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/document_shard.h"
#include "server/documents.h"
#include "stout/adapters/member_ranges.h"
#include "stout/adapters/range_server.h"
#include "stout/core/registry_table.h"
#include "stout/lease_service.h"
#include "stout/store.h"

namespace stout::docstore {

/// How servers share the documents.
struct LeaseOptions {
  /// Number of ranges of the documents. It is the same for all servers. >= 1.
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

/// The partition of documents on several stores, so that servers on one store cannot join them.
inline constexpr std::string_view kMembersPartition = "hash/members";

/// The stores of a deployment that keeps each range of documents on several of them.
struct MemberStores {
  ClusterConfig agreed;               ///< as AgreeOnConfig returned it
  std::vector<std::string> datalets;  ///< URLs of stores that this server adds to the deployment
};

/// The documents of the ranges that this server leases: see RangeServer. Documents are divided by
/// HashPartition of their ids.
///
/// A request for a document that is not served here gets 421 with the owner's address. While there
/// is no other owner, it gets 503 with Retry-After. Both mean that nothing was done.
///
/// Owner: refers to store and leases, which outlive it. Opens the stores of MemberStores. Once it
///   has served, destroy it while the executor's context does not run.
/// Threads: any.
class LeasedDocuments final : public Documents {
 public:
  LeasedDocuments(const boost::asio::any_io_executor& executor, Store& store, LeaseService& leases,
                  const DocumentsOptions& options, const LeaseOptions& lease_options);
  /// Each range is kept on several stores. Requires a lease service with a registry.
  LeasedDocuments(const boost::asio::any_io_executor& executor, const MemberStores& stores,
                  LeaseService& leases, const DocumentsOptions& options,
                  const LeaseOptions& lease_options);

  /// Joins as `address`. Calls `done` once this server is a member; ranges are acquired later.
  /// `done` gets kBadOptions if the lease service refuses this server, which the log explains, and
  /// kClosed if this server ends before.
  void Open(const std::string& address, Done done) override;
  void Handle(DocumentRequest request, http::Respond respond) override;
  void Collect(UniqueFunction<void(std::vector<ShardSnapshot>)> done) override;
  /// Answers 503 while this server is not a member, while its store does not answer, or once its
  /// store has lost changes.
  void Health(http::Respond respond) override;
  /// As RangeServer::Leave.
  void Leave(Done done) override {
    ends_ = true;
    server_.Leave(std::move(done));
  }
  /// Has no effect, because Leave has handed over every range.
  void Drain(Done done) override { done({}); }
  void Close(Done done) override {
    ends_ = true;
    server_.Close(std::move(done));
  }

 private:
  void AwaitMembership(Done done);
  [[nodiscard]] http::Response NotServed(RangeId range, const DocumentRequest& request) const;

  const Duration unhealthy_after_;
  const std::shared_ptr<std::atomic<std::size_t>> lent_ =
      std::make_shared<std::atomic<std::size_t>>(0);
  const std::unique_ptr<RangeSource> source_;
  RangeServer server_;
  MemberRanges* const members_ = nullptr;  // source_, unless that is one store
  std::vector<OwnDatalet> own_;
  std::atomic<bool> ends_ = false;
  boost::asio::steady_timer pause_;  // until the next look at the membership
};

}  // namespace stout::docstore
