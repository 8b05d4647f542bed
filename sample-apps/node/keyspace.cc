#include "node/keyspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

#include "node/rethrow.h"
#include "stout/adapters/datalet_url.h"
#include "stout/adapters/member_ranges.h"
#include "stout/adapters/partition.h"
#include "stout/adapters/range_server.h"
#include "stout/adapters/store_url.h"
#include "stout/core/errc.h"
#include "stout/join.h"
#include "stout/write_back_map.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;

class Alone final : public Keyspace {
 public:
  Alone(const asio::any_io_executor& keys, Store& store, const Config& config,
        std::function<void()> on_fenced)
      : config_(config), map_(keys, store, config.map), ranges_(map_, std::move(on_fenced)) {}

  Ranges& ranges() override { return ranges_; }
  Cluster* cluster() override { return nullptr; }

  std::string Open(const std::string&) override {
    try {
      map_.interposer().AsyncOpenScope(config_.scope, asio::use_future).get();
      return "";
    } catch (const std::exception& error) {
      return fmt::format("cannot take over store {}: {}", Redacted(config_.store), error.what());
    }
  }
  void Begin(const std::string&) override {}
  void Leave(Done done) override { done({}); }
  void Drain(Done done) override {
    asio::post(map_.get_executor(), [this, done = std::move(done)]() mutable {
      map_.Drain([done = std::move(done)](ErrorCode ec) mutable {
        done(ec == Errc::kFenced ? ErrorCode() : ec);  // another node has the keys
      });
    });
  }
  void Close(Done done) override {
    asio::post(map_.get_executor(), [this, done = std::move(done)]() mutable {
      map_.Close();
      done({});
    });
  }

 private:
  const Config& config_;
  WriteBackMap map_;
  OneRange ranges_;
};

// The limits are those of the node, and each range gets an equal part.
WriteBackMapOptions MapOptions(const Config& config) {
  WriteBackMapOptions map = config.map;
  map.cache_bytes /= config.ranges;
  LaneOptions& lane = map.engine.lane;
  lane.max_dirty_keys = std::max<std::size_t>(lane.max_dirty_keys / config.ranges, 1);
  lane.max_dirty_bytes = std::max(lane.max_dirty_bytes / config.ranges, lane.max_batch_bytes);
  return map;
}

RangeServerOptions ServerOptions(const Config& config) {
  return {.partition = config.partition(),
          .ttl = config.lease_ttl,
          .farewell = kFarewell,
          .handover_timeout = config.handover_timeout};
}

// A node that hangs is no member once its lease has ended.
asio::awaitable<void> Follow(Cluster& cluster) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (;;) {
    timer.expires_after(std::chrono::milliseconds(200));
    co_await timer.async_wait(asio::use_awaitable);
    const auto table = cluster.server.table();
    cluster.peers.KeepOnly(cluster.retired ? std::vector<std::string>() : table->members);
  }
}

class Shared final : public Keyspace {
 public:
  /// Called when the server has begun to join as `self`.
  using Started = std::function<void(const std::string& self, const RangeServer&)>;

  /// `members`: the source, if ranges have members; otherwise null.
  Shared(const asio::any_io_executor& keys, asio::any_io_executor clients,
         std::unique_ptr<LeaseService> leases, std::unique_ptr<RangeSource> source,
         MemberRanges* members, const Config& config, Started started = {})
      : leases_(std::move(leases)),
        source_(std::move(source)),
        started_(std::move(started)),
        handover_timeout_(config.handover_timeout),
        server_(keys, *source_, *leases_, ServerOptions(config)),
        ranges_(server_, members),
        // The owner may wait for a read of the stores, and then until a change is durable.
        cluster_{server_,
                 {},
                 {std::move(clients), config.password, 2 * config.map.engine.reply_deadline,
                  config.ranges},
                 members,
                 leases_->registry()} {}

  Ranges& ranges() override { return ranges_; }
  Cluster* cluster() override { return &cluster_; }

  void Begin(const std::string& self) override {
    cluster_.self = self;
    server_.Open(self);
    if (started_) started_(self, server_);
    asio::co_spawn(cluster_.peers.get_executor(), Follow(cluster_), Rethrow());
  }
  std::string Open(const std::string& self) override {
    Begin(self);
    while (!server_.joined()) {  // the main thread has nothing else to do
      if (server_.refused()) return "the lease service refuses this node";
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return "";
  }
  void Leave(Done done) override {
    const auto left = internal::Join::Of(2, std::move(done));
    const auto finish = [left, clients = cluster_.peers.get_executor()](ErrorCode ec) {
      asio::post(clients, [left, ec] { left->Finish(ec); });
    };
    if (cluster_.members != nullptr) {
      cluster_.members->Leave(finish, handover_timeout_);
    } else {
      left->Finish({});
    }
    server_.Leave([this, left, clients = cluster_.peers.get_executor()](ErrorCode ec) {
      asio::post(clients, [this, left, ec] {
        cluster_.leaving = true;
        left->Finish(ec);
      });
    });
  }
  void Drain(Done done) override { done({}); }  // no range is left
  void Close(Done done) override { server_.Close(std::move(done)); }

 private:
  const std::unique_ptr<LeaseService> leases_;
  const std::unique_ptr<RangeSource> source_;
  const Started started_;
  const Duration handover_timeout_;
  RangeServer server_;
  LeasedRanges ranges_;
  Cluster cluster_;
};

}  // namespace

std::unique_ptr<Keyspace> MakeAlone(const asio::any_io_executor& keys, Store& store,
                                    const Config& config, std::function<void()> on_fenced) {
  return std::make_unique<Alone>(keys, store, config, std::move(on_fenced));
}

std::unique_ptr<Keyspace> MakeShared(const asio::any_io_executor& keys,
                                     const asio::any_io_executor& clients, Store& store,
                                     std::unique_ptr<LeaseService> leases, const Config& config) {
  const Partition partition = config.partition();
  for (RangeId range = 0; range < partition.ranges; ++range) {
    const auto slots = partition.SlotsOf(range);
    if (slots) store.LimitScope(ScopeOf(config.scope, range), *slots);
  }
  auto source = std::make_unique<SharedStore>(keys, store, config.scope, MapOptions(config));
  return std::make_unique<Shared>(keys, clients, std::move(leases), std::move(source), nullptr,
                                  config);
}

std::unique_ptr<Keyspace> MakeMember(const asio::any_io_executor& keys,
                                     const asio::any_io_executor& clients, Store* datalet,
                                     std::unique_ptr<LeaseService> leases, const Config& config,
                                     const ClusterConfig& agreed, DataletOpener open) {
  const WriteBackMapOptions map = MapOptions(config);
  auto source = std::make_unique<MemberRanges>(
      keys, *leases, agreed,
      MemberRangesOptions{
          .scope = config.scope,
          .partition = config.partition(),
          .map = {.engine = map.engine, .cache_bytes = map.cache_bytes, .tenants = map.tenants},
          .open = std::move(open)});
  MemberRanges* const members = source.get();
  const auto started = [members, datalet, &config](const std::string& self,
                                                   const RangeServer& server) {
    OwnDatalet own{.id = config.datalet_id,
                   .datalet = {.url = datalet != nullptr ? "stout://" + self : config.datalet,
                               .node = datalet != nullptr ? self : "",
                               .capacity = config.capacity},
                   .store = datalet};
    if (own.id.empty()) own.id = datalet != nullptr ? self : DataletIdOf(config.datalet);
    members->Start({std::move(own)}, [&server] { return server.session(); });
  };
  return std::make_unique<Shared>(keys, clients, std::move(leases), std::move(source), members,
                                  config, started);
}

}  // namespace stout::node
