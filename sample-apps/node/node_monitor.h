#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/json/array.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "http/http_server.h"
#include "http/page_limit.h"
#include "monitor/history.h"
#include "node/config.h"
#include "node/node_metrics.h"
#include "node/node_service.h"
#include "stout/adapters/watched_store.h"
#include "stout/error.h"
#include "stout/store.h"
#include "stout/unique_function.h"

namespace stout::node {

/// The pages for operators at the address of --metrics: /metrics, /stats, /healthz, /history, and /
/// with the live page. Without that address it does nothing.
///
/// It serves on a thread of its own, from Listen on, also while the node waits for its store. A
/// request costs the threads of the node one copy of their counters at most, and one collection is
/// under way at a time. So clients that are slow or ask incessantly do not hold the node up.
///
/// Owner: outlives the store and the contexts of the node.
/// Threads: all members from any thread, except where stated.
class NodeMonitor final : public http::HttpHandler {
 public:
  explicit NodeMonitor(const Config& config);
  NodeMonitor(const NodeMonitor&) = delete;
  NodeMonitor& operator=(const NodeMonitor&) = delete;
  ~NodeMonitor();

  /// Begins to serve. Until the node is shown, /healthz answers 503.
  /// Errors: kBadUrl if the address cannot be had; `diagnostics` has the reason.
  [[nodiscard]] ErrorCode Listen(Diagnostics* diagnostics);
  [[nodiscard]] std::uint16_t port() const { return port_; }

  /// Returns `store`, with a record of how its calls fare. Call it once, before Shown, unless the
  /// ranges have members.
  [[nodiscard]] Store& Watch(Store& store);

  /// While it exists, the pages show a node that has opened its scope.
  ///
  /// Owner: `service` outlives it, and outlives the threads that run `clients` and the map.
  class Shown {
   public:
    Shown(NodeMonitor& monitor, NodeService& service, boost::asio::io_context& clients);
    Shown(const Shown&) = delete;
    Shown& operator=(const Shown&) = delete;
    ~Shown();

   private:
    NodeMonitor& monitor_;
  };

  /// From now on /healthz answers 503: balancers shall send no more.
  void BeginDrain() { draining_ = true; }

 private:
  using Collected = UniqueFunction<void(const NodeSnapshot&)>;
  struct Source {
    NodeService* service;
    boost::asio::io_context* clients;
  };

  // On the monitor's thread.
  void Handle(http::Request request, http::Respond respond) override;
  [[nodiscard]] http::Response Health();
  [[nodiscard]] http::Response History(std::string_view target);
  // Returns the answer of /healthz if the node is not healthy.
  [[nodiscard]] std::optional<http::Response> Trouble();
  // Asks the store, now and then, whether it answers and whether this node still owns the scope.
  void Probe();
  // Calls `collected` with a state that is not older than this call.
  void Collect(Collected collected);
  void BeginCollection();
  void EndCollection(NodeSnapshot& snapshot);
  void OnLost();

  // On a thread of the store: a write or a fence under `epoch` has ended.
  void OnOwned(Epoch epoch, ErrorCode ec);

  const Config& config_;
  boost::asio::io_context context_{1};
  const http::PageLimit pages_;
  http::HttpMetrics metrics_;
  http::HttpServer server_;
  std::uint16_t port_ = 0;             // 0: it does not serve
  std::optional<WatchedStore> store_;  // nullopt: the ranges have members
  std::atomic<bool> draining_ = false;
  std::atomic<bool> lost_ = false;  // another node has the scope
  std::atomic<Epoch> epoch_ = 0;    // the newest under which the store has taken something

  // Held while the node or the store is used, so that neither is destroyed meanwhile.
  std::mutex mutex_;
  std::optional<Source> source_;  // nullopt: the node does not serve
  std::optional<monitor::HistoryRecorder> history_;

  // Only the monitor's thread uses these.
  std::vector<Collected> waiting_;  // for the next collection
  std::vector<Collected> taken_;    // by the one that is under way
  boost::json::array members_;      // as in the newest second of the history
  monitor::CrowdingLog crowding_;
  bool collecting_ = false;
  bool probing_ = false;
  std::chrono::steady_clock::time_point probed_{};

  std::jthread thread_;
};

}  // namespace stout::node
