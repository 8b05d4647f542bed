#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>

#include "stout/adapters/store_health.h"
#include "stout/adapters/watched_store.h"
#include "stout/core/lease_table.h"
#include "stout/core/types.h"
#include "stout/error.h"
#include "stout/key_map.h"
#include "stout/store.h"
#include "stout/unique_function.h"
#include "stout/write_back_map.h"

namespace stout {

/// A range's scope in each store. `scope`: of the deployment, the same for all servers.
[[nodiscard]] Scope ScopeOf(const Scope& scope, RangeId range);

/// The stores behind the ranges of a RangeServer, and the maps over them.
///
/// Owner: outlives the server and the maps.
/// Threads: any, unless stated.
class RangeSource {
 public:
  struct Range {
    /// Not open. Used on its strand, but its last reference may go on any thread.
    std::shared_ptr<KeyMap> map;
    /// Opens the map: fences the former owner. May be called again after kTransient or kUnknown.
    UniqueFunction<void(KeyMap::Reply)> open;
  };
  using RangeHandler = UniqueFunction<void(Range)>;

  RangeSource() = default;
  RangeSource(const RangeSource&) = delete;
  RangeSource& operator=(const RangeSource&) = delete;
  virtual ~RangeSource() = default;

  /// Makes the map of a range that the server owns under `epoch`. `on_given_up` runs at most once,
  /// on the map's strand, if the map loses the range by itself.
  virtual void Make(RangeId range, Epoch epoch, UniqueFunction<void()> on_given_up,
                    RangeHandler handler) = 0;

  /// Returns for how long the stores have answered nothing that was asked, so that this server
  /// cannot serve any range; zero while a store answers.
  [[nodiscard]] virtual StoreHealth::Clock::duration InVain() const = 0;
  /// The outcome of the last call that had no answer, if it is known.
  [[nodiscard]] virtual ErrorCode last_error() const { return {}; }
  /// Asks stores that have not answered once more.
  virtual void ProbeIfNeeded() = 0;
  /// Name of the stores, for logs.
  [[nodiscard]] virtual std::string name() const = 0;
};

/// All ranges are in one store, which all servers share.
///
/// Owner: refers to the store, which outlives it.
class SharedStore final : public RangeSource {
 public:
  /// `scope`: see ScopeOf; not empty. `map`: options of each range.
  SharedStore(const boost::asio::any_io_executor& executor, Store& store, std::string scope,
              WriteBackMapOptions map);

  void Make(RangeId range, Epoch epoch, UniqueFunction<void()> on_given_up,
            RangeHandler handler) override;
  [[nodiscard]] StoreHealth::Clock::duration InVain() const override;
  [[nodiscard]] ErrorCode last_error() const override { return store_.health().last_error(); }
  void ProbeIfNeeded() override { store_.ProbeIfNeeded(); }
  [[nodiscard]] std::string name() const override { return store_.traits().name; }

 private:
  const boost::asio::any_io_executor executor_;
  WatchedStore store_;
  const std::string scope_;
  const WriteBackMapOptions options_;
};

}  // namespace stout
