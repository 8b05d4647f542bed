#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "node/config.h"
#include "node/keyspace.h"
#include "node/node_service.h"
#include "node/table.h"
#include "stout/adapters/member_ranges.h"
#include "stout/core/registry_table.h"
#include "stout/registry.h"
#include "stout/store.h"
#include "stout/unique_function.h"

namespace stout::node {

/// Returns an opener of a table's part of each store. The default table, whose id is empty, has the
/// whole store.
[[nodiscard]] DataletOpener OpenerOf(DataletOpener open, const std::string& table_id);

/// The tables of a node beside its default table. It opens those that the deployment lists, and
/// drops those that are listed no longer.
///
/// The id of a table names its creation. It is the name of the table's own deployment (leases and
/// records), of its scopes, and of the prefix of its keys in each store. So a table that is created
/// again has nothing of the former one. A former table's id is listed, too, until the records of
/// its deployment have gone; see docs/decisions/0027-tables.md.
///
/// Owner: all that Shared refers to outlives it. Destroy it while the contexts do not run.
/// Threads: the connections', unless stated.
/// Errors: logged. It tries again.
class Tables {
 public:
  struct Shared {
    const Config& config;
    boost::asio::any_io_executor keys;
    boost::asio::any_io_executor clients;  ///< the connections'
    Registry& registry;                    ///< of the deployment, which lists the tables
    Store* datalet;                        ///< as MakeMember, as is `open`
    DataletOpener open;
  };

  explicit Tables(Shared shared);
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;
  ~Tables();

  /// Begins to follow the list. `self`: the address of this node. Any thread. Call it once.
  void Start(NodeService& service, const std::string& self);
  /// As Keyspace. It opens no table any more.
  void Leave(Keyspace::Done done);
  void Close(Keyspace::Done done);
  /// Waits until no table is being opened. Call it while the contexts run. Any thread.
  void Stop();
  /// Destroys all tables, whose stores may use the service. Call it after the contexts have ended.
  void Clear();
  /// No table is opened or dropped any more.
  [[nodiscard]] bool leaving() const { return leaving_; }

  [[nodiscard]] Registry& registry() const { return shared_.registry; }
  /// Returns an open table; null if there is none of this name.
  [[nodiscard]] Table* Find(std::string_view name) const;
  [[nodiscard]] std::vector<Table*> open() const;

  [[nodiscard]] static std::string IdOf(Revision created);
  /// Returns true for names that clients cannot give to a table.
  [[nodiscard]] static bool IsReserved(std::string_view name);

 private:
  struct Opened;
  // A table whose leases are there.
  struct Found {
    std::string name;
    std::string id;
    std::unique_ptr<LeaseService> leases;  // null: they cannot be opened
    ClusterConfig config;
    std::string why{};
  };

  [[nodiscard]] boost::asio::awaitable<void> Follow();
  // Makes the open tables those of the list.
  void Reconcile();
  void OpenLeases(const std::string& name, const std::string& id, const ClusterConfig& config);
  void Open(Found found);
  void Drop(std::unique_ptr<Opened> table);
  // Opens no table any more, and calls `end` of those that are open.
  void End(void (Keyspace::*end)(Keyspace::Done), Keyspace::Done done);
  // Removes the records of former tables that no node has open.
  void Bury();

  const Shared shared_;
  NodeService* service_ = nullptr;
  std::string self_;
  bool leaving_ = false;
  RegistryTable records_;
  std::map<std::string, std::unique_ptr<Opened>, std::less<>> tables_;  // by name
  std::vector<std::unique_ptr<Opened>> dropped_;  // connections and calls may still use them
  std::set<std::string> opening_;                 // ids
  std::set<std::string> complained_;              // ids of tables that cannot be opened
  Registry::Watch watch_;

  std::mutex mutex_;          // guards what follows
  std::vector<Found> found_;  // to be opened
  boost::asio::thread_pool opener_{1};
};

}  // namespace stout::node
