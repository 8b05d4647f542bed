#pragma once

#include "store_fixture.h"
#include "stout/adapters/redis_cluster_store.h"
#include "tests/support/redis_cluster.h"

namespace stout::test {

// One for all tests of this program, as it takes seconds to start: whole, and empty.
[[nodiscard]] RedisCluster& EmptyCluster();

// For the contract suite, as durable as a cluster gets.
class ClusterFixture : public FixtureBase {
 public:
  static constexpr bool kFinishesAtClose = false;

  ClusterFixture();
  ~ClusterFixture() { Close(); }
  void Reopen();

 private:
  RedisCluster& cluster_ = EmptyCluster();
};

#define STOUT_TEST_ALL_STORES ClusterFixture
#define STOUT_TEST_COMPARING_STORES ClusterFixture
#define STOUT_TEST_FENCING_STORES ClusterFixture
#define STOUT_TEST_DURABLE_STORES ClusterFixture
#define STOUT_TEST_HAS_DURABLE_STORES

}  // namespace stout::test
