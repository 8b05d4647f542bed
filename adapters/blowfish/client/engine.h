#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "blowfish/client/connection.h"
#include "blowfish/client/shard_write.h"
#include "blowfish/client/split.h"
#include "stout/adapters/blowfish_store.h"
#include "stout/adapters/connection_pool.h"
#include "stout/adapters/pipeline.h"

namespace stout {

// The connections of a store. Each shard has some for writes and some for reads. One more serves
// calls that concern all shards, and some serve searches, which may be long. So none of these waits
// for another.
//
// Threads: all members from any; jobs run on one strand.
class BlowfishStore::Engine {
 public:
  using Connection = blowfish::client::Connection;
  using Pool = ConnectionPool<Connection>;
  using Writes = Pipeline<Connection, blowfish::client::ShardWrite, WriteResult>;

  Engine(const Options& options, const std::shared_ptr<const resp::Peer>& peer,
         const std::shared_ptr<const blowfish::client::Expectation>& expected,
         const boost::asio::any_io_executor& executor);

  [[nodiscard]] Writes& WritesOf(LaneId shard) { return shards_[shard].writes; }
  [[nodiscard]] Pool& ReadersOf(LaneId shard) { return *shards_[shard].readers; }
  [[nodiscard]] Pool& common() { return *common_; }
  [[nodiscard]] Pool& searchers() { return *searchers_; }

  void Obey(std::shared_ptr<const Tenants> tenants);
  // Splits a batch by tenants, too, and returns their names, if a node is to be told of them. It is
  // told of all once there was one, because a connection keeps the tenant that it heard of last.
  [[nodiscard]] std::vector<std::string> SplitByTenant(const ReadBatch& batch,
                                                       blowfish::client::Split* split);

  // Ends all connections. Jobs that wait are dropped.
  void Close();

 private:
  struct Shard {
    std::shared_ptr<Pool> writers;
    std::shared_ptr<Pool> readers;
    Writes writes;  // by the writers
  };

  const bool is_node_;
  std::vector<Shard> shards_;
  std::shared_ptr<Pool> common_;
  std::shared_ptr<Pool> searchers_;

  std::mutex mutex_;  // guards the next two
  std::shared_ptr<const Tenants> tenants_;
  bool has_tenants_ = false;
};

}  // namespace stout
