#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "tests/load/chaos_client.h"
#include "tests/support/history_checker.h"

namespace stout::test {

struct LoadOptions {
  int clients = 8;
  std::uint64_t seed = 1;
  std::vector<int> ports{};  ///< of the servers
  int keys = 24;
  const ChaosProtocol* protocol = &kRespProtocol;
  /// Operations per second of all clients together, each due at its own time. 0: a client begins
  /// its next operation 5 ms after the last one.
  double rate = 0;
  /// Called after each operation, by several threads at once. Times are those of ChaosNow.
  std::function<void(std::int64_t due_ns, std::int64_t end_ns, bool ok)> on_step{};
};

/// ChaosClients that each run on a thread of their own, from now until Stop.
///
/// Threads: as one object; the counters from any thread.
class LoadThreads {
 public:
  explicit LoadThreads(LoadOptions options);
  LoadThreads(const LoadThreads&) = delete;
  LoadThreads& operator=(const LoadThreads&) = delete;
  ~LoadThreads() { Stop(); }

  /// Operations so far that were answered with success, and those that were not.
  [[nodiscard]] std::uint64_t done() const { return done_; }
  [[nodiscard]] std::uint64_t failed() const { return failed_; }

  /// Waits for the operations under way. The second call does nothing.
  void Stop();
  /// Requires that the threads are stopped.
  [[nodiscard]] std::vector<Operation> History() const;

 private:
  void Run(std::size_t index);

  const LoadOptions options_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> done_ = 0, failed_ = 0;
  std::vector<std::unique_ptr<ChaosClient>> clients_;
  std::vector<std::jthread> threads_;
};

}  // namespace stout::test
