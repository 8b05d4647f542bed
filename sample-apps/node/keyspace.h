#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "node/cluster.h"
#include "node/config.h"
#include "node/ranges.h"
#include "stout/adapters/member_ranges.h"
#include "stout/core/registry_table.h"
#include "stout/error.h"
#include "stout/lease_service.h"
#include "stout/store.h"
#include "stout/unique_function.h"

namespace stout::node {

/// The keys of a node, from its start to its end.
///
/// Owner: refers to the store, the options and the contexts, which outlive it. Destroy it while the
///   contexts do not run.
/// Threads: as said; Leave, Drain and Close run on the connections' thread.
class Keyspace {
 public:
  using Done = UniqueFunction<void(ErrorCode)>;

  Keyspace() = default;
  Keyspace(const Keyspace&) = delete;
  Keyspace& operator=(const Keyspace&) = delete;
  virtual ~Keyspace() = default;

  [[nodiscard]] virtual Ranges& ranges() = 0;
  /// Null if the node is alone.
  [[nodiscard]] virtual Cluster* cluster() = 0;

  /// Takes over the keys, or joins the nodes that share them as `self`. Blocks until then. Returns
  /// the problem, or "".
  [[nodiscard]] virtual std::string Open(const std::string& self) = 0;
  /// As Open, but does not wait. Only for a node that shares the keys with others.
  virtual void Begin(const std::string& self) = 0;
  /// Gives the keys to the other nodes, if there are any, while commands are still served. `done`
  /// gets an error if a change was dropped.
  virtual void Leave(Done done) = 0;
  /// Makes all changes durable. No command comes any more.
  virtual void Drain(Done done) = 0;
  /// Fails all commands that wait.
  virtual void Close(Done done) = 0;
};

/// Makes the keyspace of a node that is alone. `keys` runs on any number of threads. `on_fenced` is
/// called on the connections' thread if another node takes the store over.
[[nodiscard]] std::unique_ptr<Keyspace> MakeAlone(const boost::asio::any_io_executor& keys,
                                                  Store& store, const Config& config,
                                                  std::function<void()> on_fenced);

/// Makes the keyspace of a node that shares the store with others. `clients`: the connections'
/// executor.
[[nodiscard]] std::unique_ptr<Keyspace> MakeShared(const boost::asio::any_io_executor& keys,
                                                   const boost::asio::any_io_executor& clients,
                                                   Store& store,
                                                   std::unique_ptr<LeaseService> leases,
                                                   const Config& config);

/// Makes the keyspace of a node of a deployment whose stores are datalets. `datalet`: the one that
/// this node serves; null: others reach it by its URL. `agreed`: as AgreeOnConfig returned it.
/// `open` opens the datalets of others. `config` outlives it.
[[nodiscard]] std::unique_ptr<Keyspace> MakeMember(const boost::asio::any_io_executor& keys,
                                                   const boost::asio::any_io_executor& clients,
                                                   Store* datalet,
                                                   std::unique_ptr<LeaseService> leases,
                                                   const Config& config,
                                                   const ClusterConfig& agreed, DataletOpener open);

}  // namespace stout::node
