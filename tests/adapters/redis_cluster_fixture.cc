#include "redis_cluster_fixture.h"

#include <stdexcept>

#include "stout/adapters/open_store.h"

namespace stout::test {

RedisCluster& EmptyCluster() {
  static RedisCluster cluster;
  cluster.Heal();
  cluster.Clear();
  return cluster;
}

ClusterFixture::ClusterFixture() { Reopen(); }

void ClusterFixture::Reopen() {
  Close();
  Diagnostics why;
  auto store = OpenStore(cluster_.Url("wait=1"), executor(), &why);
  if (!store) throw std::runtime_error(why.message);
  store_ = *std::move(store);
}

}  // namespace stout::test
