#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "node/node_service.h"
#include "node/ranges.h"
#include "resp/server/listener.h"
#include "stout/adapters/memory_store.h"
#include "stout/store.h"

namespace stout::test {

// A stout-node in this process that has no ranges, and serves its datalet to other nodes.
//
// Threads: has one of its own.
class DataletNode {
 public:
  using SetUp = std::function<void(node::NodeService&)>;

  // `datalet`: open until Stop(); null: there is none. `port`: 0: any that is free. `set_up` may
  // change limits and the like.
  explicit DataletNode(Store* datalet, int port = 0, const std::string& password = {},
                       const SetUp& set_up = {});
  DataletNode(const DataletNode&) = delete;
  DataletNode& operator=(const DataletNode&) = delete;
  ~DataletNode() { Stop(); }

  // Answers what is under way, and ends all connections. A datalet that answers on threads of its
  // own must be closed after this and before the destructor.
  void Stop();

  [[nodiscard]] int port() const { return service_.port; }
  // `user`: ":secret@". `options`: "timeout=1s".
  [[nodiscard]] std::string Url(const std::string& user = {},
                                const std::string& options = {}) const;
  [[nodiscard]] node::NodeService& service() { return service_; }

 private:
  class NoRanges final : public node::Ranges {
   public:
    [[nodiscard]] const Partition& partition() const override { return partition_; }
    void Run(RangeId, bool, RangeServer::Operation operation) override { operation(nullptr); }
    [[nodiscard]] std::optional<Lease> LeaseOf(RangeId) const override { return std::nullopt; }
    [[nodiscard]] std::vector<RangeServer::Served> Served() const override { return {}; }
    void OnFenced(const ServedRange&) override {}

   private:
    const Partition partition_ = IntervalPartition({});
  };

  boost::asio::io_context context_{1};
  MemoryStore keys_{context_.get_executor()};  // of its clients, which has none
  NoRanges ranges_;
  node::NodeService service_;
  resp::Listener listener_;
  std::jthread thread_;
};

}  // namespace stout::test
