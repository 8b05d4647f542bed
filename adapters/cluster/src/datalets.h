#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "shared_scans.h"
#include "stout/adapters/member_ranges.h"
#include "stout/adapters/store_health.h"
#include "stout/adapters/watched_store.h"
#include "stout/replicated_map.h"
#include "stout/store.h"

namespace stout {

/// The stores of a deployment's datalets, as far as they can be called. A store that cannot be
/// opened, or that lost what it had, is opened again from time to time. Each store is asked once a
/// second whether it is there; a silent one that has left the registry, less and less often. So all
/// ranges of a node learn at once that a store is silent or has lost what it had, also those that
/// are idle.
///
/// Owner: destroy it while nobody uses its stores.
/// Threads: any, unless stated.
class Datalets {
 public:
  using Clock = StoreHealth::Clock;

  /// The stores that it opens obey the tenants, which may be null.
  explicit Datalets(const DataletOpener& open, std::shared_ptr<const Tenants> tenants = nullptr);
  Datalets(const Datalets&) = delete;
  Datalets& operator=(const Datalets&) = delete;
  ~Datalets();

  /// The datalet is this store, which outlives this, of this node: its address. If the registry
  /// names another node for the datalet, that node's store is used.
  void Add(const std::string& id, Store& store, std::string node);
  /// `present`: the datalets of the registry. They are opened unless they are open.
  void Learn(const std::map<std::string, Recorded<Datalet>>& present);
  /// Opens the stores that are not open, and asks the others. A datalet without an answer for
  /// `limit` is silent; if it has left the registry, it is silent as soon as a call fails. Starts
  /// the scans of ranges. Returns true if stores have come or gone since the last call. Call it
  /// from time to time.
  bool Poll(Duration limit);

  /// The store of a silent datalet is null, unless it is lazy. Scans of the others start with a
  /// Poll and are shared.
  [[nodiscard]] std::vector<Replica> Replicas() const;
  [[nodiscard]] Store* StoreOf(const std::string& id) const;
  /// Returns how long all but the lazy ones have been unresponsive, see StoreHealth.
  [[nodiscard]] Clock::duration InVain() const;

 private:
  struct Entry {
    std::string url;  // empty: the store is the caller's
    WatchedStore* store = nullptr;
    Store* for_ranges = nullptr;  // the same, with shared scans
    bool registered = true;
    bool silent = false;
    bool lazy = false;
    bool opening = false;
    bool complained = false;
    Clock::time_point due{};     // of the next attempt to open it, or question to it
    int attempts = 0;            // to open it, since it last answered
    Clock::duration forgiven{};  // of the time without an answer: this process did not run
  };

  struct Own {
    Store* store = nullptr;
    std::string node;
  };

  void AddOwn(const std::string& id, Store& store);
  void Add(const std::string& id, const std::string& url);
  void Watch(Entry& entry, Store& store);
  void OpenNow(const std::string& id, Entry& entry);
  void OnOpened(const std::string& id, const std::string& url, Result<std::unique_ptr<Store>> store,
                const std::string& why);

  const DataletOpener open_;
  mutable std::mutex mutex_;  // guards what follows
  std::map<std::string, Own> own_;
  std::map<std::string, Entry> entries_;
  // All stores that were ever opened: maps may still use one that was replaced.
  std::vector<std::unique_ptr<Store>> stores_;
  std::vector<std::unique_ptr<WatchedStore>> watched_;
  std::vector<std::unique_ptr<SharedScans>> shared_;
  bool changed_ = false;
  Clock::time_point polled_ = Clock::now();  // last
  boost::asio::thread_pool opener_{1};
};

}  // namespace stout
