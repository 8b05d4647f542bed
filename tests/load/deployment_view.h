#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "stout/core/lease_table.h"
#include "stout/core/registry_table.h"
#include "stout/lease_service.h"

namespace stout::test {

/// What the coordinator of a deployment with members has recorded, without asking a node.
///
/// Threads: has one of its own; all members from any thread.
class DeploymentView {
 public:
  /// Throws std::runtime_error if the lease service at this URL cannot be opened.
  explicit DeploymentView(const std::string& url);
  DeploymentView(const DeploymentView&) = delete;
  DeploymentView& operator=(const DeploymentView&) = delete;
  ~DeploymentView();

  /// The newest that was reported.
  [[nodiscard]] LeaseTable leases() const;
  [[nodiscard]] RegistryTable records() const;

  /// The number of members that are in, for each range that has an owner.
  [[nodiscard]] std::vector<std::size_t> MembersIn() const;
  /// Returns true if each range has an owner and this number of members that are in.
  [[nodiscard]] bool AllHave(std::size_t members) const;
  /// Returns true if some range has an owner and fewer members than this that are in.
  [[nodiscard]] bool SomeLack(std::size_t members) const;
  /// Returns true if each range is in this mode.
  [[nodiscard]] bool AllIn(ReplicationMode mode) const;
  /// The number of ranges in which the datalet of the node at this address is in since a time at or
  /// after `since`, in Unix time.
  [[nodiscard]] std::size_t RangesWith(const std::string& address, TimePoint since = {}) const;
  /// The ranges whose owner is at this address.
  [[nodiscard]] std::vector<RangeId> RangesOf(const std::string& address) const;

 private:
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  mutable std::mutex mutex_;
  LeaseTable leases_;
  RegistryTable records_;
  std::jthread thread_;
  std::unique_ptr<LeaseService> service_;
  LeaseService::Watch lease_watch_, record_watch_;
};

}  // namespace stout::test
