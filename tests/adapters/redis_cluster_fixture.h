#pragma once

#include <string>

#include "store_fixture.h"
#include "stout/adapters/redis_cluster_store.h"
#include "tests/support/redis_cluster.h"

namespace stout::test {

// One for all tests of this program, as it takes seconds to start: whole, and empty.
[[nodiscard]] RedisCluster& EmptyCluster();

// For the contract suite, as durable as a cluster gets.
class ClusterFixture : public FixtureBase {
 public:
  [[nodiscard]] bool FinishesAtClose() const override { return false; }

  explicit ClusterFixture(std::string options = "wait=1");
  ~ClusterFixture() override { Close(); }
  void Reopen() override;

 protected:
  const std::string options_;
  RedisCluster& cluster_ = EmptyCluster();
};

// A replica may lag: whichever node comes back may lack writes.
class LaggingCluster : public ClusterFixture {
 public:
  LaggingCluster() : ClusterFixture("detect_loss=true") {}
  void LoseData() override;
};

// As durable as a cluster gets, and watched.
class KeepingCluster : public ClusterFixture {
 public:
  KeepingCluster() : ClusterFixture("wait=1&detect_loss=true") {}
  void Restart() override;
};

#define STOUT_TEST_ALL_STORES ClusterFixture
#define STOUT_TEST_COMPARING_STORES ClusterFixture
#define STOUT_TEST_FENCING_STORES ClusterFixture
#define STOUT_TEST_DURABLE_STORES ClusterFixture
#define STOUT_TEST_HAS_DURABLE_STORES
#define STOUT_TEST_LOSING_STORES LaggingCluster
#define STOUT_TEST_KEEPING_STORES KeepingCluster

}  // namespace stout::test
