#pragma once

#include <algorithm>
#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "redis_cluster_fixture.h"
#include "remote_store_fixture.h"
#include "store_test_support.h"
#include "stout/adapters/redis_cluster_store.h"
#include "tests/support/catch.h"

namespace stout::test {

/// A test with the empty cluster.
class ClusterTest {
 public:
  std::unique_ptr<RedisClusterStore> Open(const std::string& options = {}) {
    Diagnostics why;
    auto store = RedisClusterStore::OpenUrl(*ParseStoreUrl(cluster_.Url(options), &why),
                                            pool_.get_executor(), &why);
    INFO(why.message);
    REQUIRE(store);
    return std::unique_ptr<RedisClusterStore>(
        static_cast<RedisClusterStore*>(std::move(*store).release()));
  }

 protected:
  boost::asio::thread_pool pool_{2};
  RedisCluster& cluster_ = EmptyCluster();
};

/// Returns keys of a partition that the test has not used yet.
class UnusedKeys {
 public:
  UnusedKeys(const Store& store, LaneId partition) : store_(store), partition_(partition) {}
  std::string Next() {
    std::string key;
    do {
      key = "key" + std::to_string(next_++);
    } while (store_.PartitionOf(key) != partition_);
    return key;
  }

 private:
  const Store& store_;
  const LaneId partition_;
  int next_ = 0;
};

/// Writes batches of one key, one after another, on a thread of its own. As a lane does, it repeats
/// a batch until it is done. It keeps the acknowledged states.
class WriteLoad {
 public:
  /// `make_key` returns a key that was not written yet.
  WriteLoad(Store& store, std::function<std::string()> make_key)
      : store_(store), make_key_(std::move(make_key)), thread_([this] { Run(); }) {}
  ~WriteLoad() { Stop(); }
  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

  [[nodiscard]] std::size_t acknowledged() const { return acknowledged_; }
  bool AwaitMore(std::size_t batches) {
    const std::size_t goal = acknowledged_ + batches;
    return Eventually([&] { return acknowledged_ >= goal; });
  }
  /// Returns the longest time of a write since the last call.
  std::chrono::milliseconds TakeSlowest() {
    return std::chrono::milliseconds(slowest_ms_.exchange(0));
  }
  /// Returns the number of acknowledged writes that the store lacks. Requires Stop().
  [[nodiscard]] std::size_t CountLost() {
    constexpr std::size_t kAtOnce = 500;
    std::size_t lost = 0;
    for (std::size_t begin = 0; begin < told_.size(); begin += kAtOnce) {
      const std::size_t end = std::min(told_.size(), begin + kAtOnce);
      std::vector<std::string> keys;
      for (std::size_t i = begin; i < end; ++i) keys.push_back(told_[i].first);
      const ReadResult read = ReadNow(store_, keys);
      for (std::size_t i = begin; i < end; ++i) {
        if (read.errc != Errc::kOk || read.states.at(i - begin) != told_[i].second) ++lost;
      }
    }
    return lost;
  }

 private:
  void Run() {
    for (Version version = 1; !stop_; ++version) {
      const std::string value = std::to_string(version);
      const WriteBatch batch = Batch(1, {Put(make_key_(), value, version)});
      const auto start = std::chrono::steady_clock::now();
      const WriteResult result = WriteAtLast(store_, batch);
      const auto took =
          std::chrono::ceil<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start)
              .count();
      if (took > slowest_ms_) slowest_ms_ = took;
      if (result != WriteResult{}) break;
      told_.emplace_back(batch.items[0].key, Found(value, {1, version}));
      ++acknowledged_;
    }
  }

  Store& store_;
  const std::function<std::string()> make_key_;
  std::vector<std::pair<std::string, StoredState>> told_;
  std::atomic<std::size_t> acknowledged_{0};
  std::atomic<std::int64_t> slowest_ms_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace stout::test
