// Trials of tenant-bench over a cache that answers on threads of its own.

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tenants/trial.h"
#include "tests/support/catch.h"

namespace stout::bench {
namespace {

/// Answers from threads. From one read on, every read fails.
class FailingCache : public SharedCache {
 public:
  ~FailingCache() override { threads_.join(); }

  void Read(TenantId, std::string, std::function<void(bool)> done) override {
    const bool succeeds = ++reads_ < 1000;
    ++pending_;
    boost::asio::post(threads_, [this, succeeds, done = std::move(done)] {
      --pending_;
      done(succeeds);
    });
  }
  std::vector<TenantStats> Stats() override { return {}; }

  [[nodiscard]] int pending() const { return pending_; }

 private:
  std::atomic<int> reads_ = 0;
  std::atomic<int> pending_ = 0;
  boost::asio::thread_pool threads_{2};
};

TEST_CASE("a trial whose reads fail ends once all its clients have stopped", "[tenant-bench]") {
  FailingCache cache;
  const Trial trial{
      .tenants = {{.name = "a", .reads = {.keys = 10}}, {.name = "b", .reads = {.keys = 10}}},
      .warm = 10,
      .together = 1'000'000,
      .measured = 10};
  CHECK_THROWS_WITH(Run(trial, cache), "a read has failed");
  CHECK(cache.pending() == 0);
}

}  // namespace
}  // namespace stout::bench
