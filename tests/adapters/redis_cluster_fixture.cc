#include "redis_cluster_fixture.h"

#include <stdexcept>
#include <utility>

#include "stout/adapters/open_store.h"

namespace stout::test {

RedisCluster& EmptyCluster() {
  static RedisCluster cluster;
  cluster.Heal();
  cluster.Clear();
  return cluster;
}

ClusterFixture::ClusterFixture(std::string options) : options_(std::move(options)) { Reopen(); }

void ClusterFixture::Reopen() {
  Close();
  Diagnostics why;
  auto store = OpenStore(cluster_.Url(options_), executor(), &why);
  if (!store) throw std::runtime_error(why.message);
  store_ = *std::move(store);
}

// Sooner than a replica takes over.
void LaggingCluster::LoseData() {
  RedisServer& master = cluster_.MasterOf("k");
  master.Kill();
  master.Start();
}

void KeepingCluster::Restart() {
  RedisServer& master = cluster_.MasterOf("k");
  master.Kill();
  master.Start();
}

}  // namespace stout::test
