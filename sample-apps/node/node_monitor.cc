#include "node/node_monitor.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <memory>
#include <utility>

#include "monitor/pages.h"
#include "node/tables.h"
#include "resp/server/process_usage.h"
#include "stout/join.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

constexpr std::array<std::string_view, 5> kPaths = {"/", "/healthz", "/history", "/metrics",
                                                    "/stats"};

/// Minimum time between two probes of the store.
constexpr auto kProbePause = std::chrono::seconds(1);

http::Response NotServing() {
  return http::MakeUnavailable(
      "the node does not serve yet: it waits for its store",
      "check the store and the network to it; the log of the node has the reason");
}

struct RangeFigures {
  std::string table;
  RangeId range = 0;
  std::vector<MemberStats> members;
  std::size_t cached_bytes = 0;
  std::size_t lent_bytes = 0;
  std::vector<TenantStats> tenants;
};

// The memory of a range counts with its first member, so that sums over all are right.
void Append(RangeFigures range, NodeSnapshot& node) {
  for (MemberStats& member : range.members) {
    if (!member.datalet.empty()) {
      node.members.push_back({range.table, range.range, member.datalet, member.in, member.filling,
                              member.lazy, member.copied, member.engine.DirtyKeys(),
                              member.engine.dirty_age});
    }
    node.shards.push_back({range.range, std::move(member.engine),
                           std::exchange(range.cached_bytes, 0), std::exchange(range.lent_bytes, 0),
                           std::move(member.datalet), range.table});
  }
}

void AddRanges(const Table& table, NodeSnapshot& node) {
  if (table.cluster == nullptr) return;
  const Cluster& cluster = *table.cluster;
  node.ranges.push_back({.table = table.name,
                         .self = cluster.self,
                         .leases = cluster.server.table(),
                         .records = cluster.members ? cluster.members->records() : nullptr,
                         .taken = cluster.server.taken(),
                         .forwarded = cluster.forwarded});
}

}  // namespace

NodeMonitor::NodeMonitor(const Config& config)
    : config_(config), server_(context_, *this, metrics_, http::kOperatorLimits) {}

NodeMonitor::~NodeMonitor() { context_.stop(); }

ErrorCode NodeMonitor::Listen(Diagnostics* diagnostics) {
  if (!config_.metrics) return {};
  const auto port = server_.Listen(config_.metrics->host, config_.metrics->port);
  if (!port) {
    diagnostics->message = fmt::format("--metrics: cannot listen on {}: {}; choose another address",
                                       config_.metrics->Text(), port.error().message());
    return Errc::kBadUrl;
  }
  port_ = *port;
  spdlog::info("metrics at port {}", port_);
  thread_ = std::jthread([this] { context_.run(); });
  return {};
}

Store& NodeMonitor::Watch(Store& store) {
  if (port_ == 0) return store;
  return store_.emplace(store, [this](Epoch epoch, WatchedStore::Clock::time_point, ErrorCode ec) {
    OnOwned(epoch, ec);
  });
}

NodeMonitor::Shown::Shown(NodeMonitor& monitor, NodeService& service, asio::io_context& clients)
    : monitor_(monitor) {
  if (monitor.port_ == 0) return;
  const StoreTraits& traits = service.main.store.traits();
  const Config& config = monitor.config_;
  std::size_t lanes = traits.partitions;
  if (!config.join.empty()) lanes *= config.ranges;
  if (!config.datalet.empty()) lanes *= config.cluster.replicas;
  const std::lock_guard lock(monitor.mutex_);
  monitor.lost_ = false;  // an attempt to open may have failed
  monitor.source_ = {&service, &clients};
  monitor.history_.emplace(
      monitor.context_.get_executor(),
      [&monitor](monitor::HistoryRecorder::Collected done) {
        monitor.Collect([&monitor, done = std::move(done)](const NodeSnapshot& node) mutable {
          monitor.members_ = PageRows(node);
          done(node.shards, node.service.connections.commands);
        });
      },
      monitor::HistoryRecorder::About{
          "stout-node", monitor.config_.map.engine.lane.write_policy.Name(), traits.name, lanes});
  monitor.history_->Start();
}

NodeMonitor::Shown::~Shown() {
  const std::lock_guard lock(monitor_.mutex_);
  monitor_.source_.reset();
}

void NodeMonitor::Handle(http::Request request, http::Respond respond) {
  const std::string_view path = http::PathOf(request.target);
  if (std::ranges::find(kPaths, path) == kPaths.end()) {
    return respond(http::MakeError(404, "there is no such path",
                                   "use /metrics, /stats, /healthz, / or /history"));
  }
  if (request.method != http::Method::kGet && request.method != http::Method::kHead)
    return respond(http::MakeMethodError("GET, HEAD"));
  if (path == "/") return respond(monitor::MakeLivePage());
  if (path == "/healthz") return respond(Health());
  http::PageLimit::Page page = pages_.Take();
  if (page == nullptr) return respond(http::PageLimit::TooMany());
  if (path == "/history")
    return respond(http::PageLimit::Hold(std::move(page), History(request.target)));
  Collect([this, prometheus = path == "/metrics", page = std::move(page),
           respond = std::move(respond)](const NodeSnapshot& node) mutable {
    const http::HttpSnapshot http = metrics_.Snapshot();
    respond(http::PageLimit::Hold(std::move(page),
                                  prometheus ? http::MakePrometheus(ToPrometheus(node, http))
                                             : http::MakeJson(200, ToJson(node, http))));
  });
}

http::Response NodeMonitor::Health() {
  Probe();
  auto trouble = Trouble();
  return trouble ? *std::move(trouble) : http::MakeHealthy();
}

http::Response NodeMonitor::History(std::string_view target) {
  const std::lock_guard lock(mutex_);
  return history_ ? http::MakeJson(200, history_->Answer(target, members_)) : NotServing();
}

std::optional<http::Response> NodeMonitor::Trouble() {
  if (draining_) return http::MakeDraining();
  const std::lock_guard lock(mutex_);
  if (!source_) return NotServing();
  const Cluster* const cluster = source_->service->main.cluster;
  if (cluster != nullptr && !cluster->server.joined()) {
    return http::MakeUnavailable("the node is not a member of its deployment at present",
                                 "check the lease service and the network to it");
  }
  if (lost_) {
    return http::MakeUnavailable(
        fmt::format("another node has taken over scope '{}' of the store", config_.scope),
        "use that node; this one ends");
  }
  // A node whose members do not answer gives up its place in the deployment.
  return store_ ? monitor::StoreTrouble(*store_, config_.unhealthy_after) : std::nullopt;
}

void NodeMonitor::Probe() {
  const std::lock_guard lock(mutex_);
  const auto now = steady_clock::now();
  if (!source_ || !store_ || probing_ || now - probed_ < kProbePause) return;
  probed_ = now;
  store_->ProbeIfNeeded();
  // Others may have taken ranges of a node that shares the store.
  if (!config_.join.empty() || !store_->traits().fences || lost_) return;
  probing_ = true;
  store_->Fence(config_.scope, epoch_,
                [this](ErrorCode) { asio::post(context_, [this] { probing_ = false; }); });
}

void NodeMonitor::OnOwned(Epoch epoch, ErrorCode ec) {
  if (!config_.join.empty()) return;
  if (!ec && epoch > epoch_) epoch_ = epoch;
  if (ec == Errc::kFenced && epoch >= epoch_ && !lost_.exchange(true))
    asio::post(context_, [this] { OnLost(); });
}

void NodeMonitor::OnLost() {
  const std::lock_guard lock(mutex_);
  if (!source_) return;
  asio::post(*source_->clients, [&ranges = source_->service->main.ranges] {
    for (const auto& served : ranges.Served()) ranges.OnFenced(*served);
  });
}

void NodeMonitor::Collect(Collected collected) {
  waiting_.push_back(std::move(collected));
  if (!collecting_) BeginCollection();
}

void NodeMonitor::BeginCollection() {
  collecting_ = true;
  taken_ = std::exchange(waiting_, {});
  auto snapshot = std::make_shared<NodeSnapshot>();
  auto figures = std::make_shared<std::vector<RangeFigures>>();
  const auto end = [this, snapshot, figures] {
    for (RangeFigures& range : *figures) {
      monitor::AddTenants(range.tenants, config_.tenants->Names(), "records", snapshot->tenants);
      Append(std::move(range), *snapshot);
    }
    EndCollection(*snapshot);
  };
  const std::lock_guard lock(mutex_);
  if (!source_) return asio::post(context_, end);
  asio::post(*source_->clients, [this, snapshot, figures, end, service = source_->service] {
    snapshot->service = resp::SnapshotOf(*service);
    snapshot->keys = service->main.key_count.keys();
    snapshot->keys_counted_at = service->main.key_count.counted_at().count();
    if (service->local_store != nullptr) {
      const auto cached = service->local_store->CachedByTenant();
      monitor::AddTenants(cached, config_.tenants->Names(), "store", snapshot->tenants);
    }
    auto ranges = service->main.ranges.Serving();
    figures->resize(ranges.size());
    AddRanges(service->main, *snapshot);
    const auto tables =
        service->tables != nullptr ? service->tables->open() : std::vector<Table*>();
    for (const Table* const table : tables) {
      AddRanges(*table, *snapshot);
      const auto more = table->ranges.Serving();
      ranges.insert(ranges.end(), more.begin(), more.end());
      figures->resize(ranges.size(), {.table = table->name});
    }
    const auto join = stout::internal::Join::Of(
        ranges.size(), [this, end](ErrorCode) { asio::post(context_, end); });
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const auto strand = ranges[i]->map->get_executor();
      asio::post(strand, [figures, join, i, range = ranges[i]] {
        const KeyMap& map = *range->map;
        (*figures)[i] = {std::move((*figures)[i].table),
                         range->range,
                         map.Members(),
                         map.cached_bytes(),
                         map.lent_bytes(),
                         map.CachedByTenant()};
        join->Finish({});
      });
    }
  });
}

void NodeMonitor::EndCollection(NodeSnapshot& snapshot) {
  snapshot.healthy = !Trouble();
  snapshot.cache_limit_bytes = config_.map.cache_bytes;
  snapshot.usage = resp::ProcessUsage::Now();
  {
    const std::lock_guard lock(mutex_);
    if (source_ && store_) {
      snapshot.store_unanswered = store_->health().InVain(steady_clock::now());
    } else if (source_ && source_->service->main.cluster != nullptr) {
      snapshot.store_unanswered = source_->service->main.cluster->members->InVain();
    }
  }
  monitor::MarkCrowded(snapshot.tenants);
  crowding_.Tell(snapshot.tenants);
  for (Collected& collected : std::exchange(taken_, {})) collected(snapshot);
  collecting_ = false;
  if (!waiting_.empty()) BeginCollection();
}

}  // namespace stout::node
