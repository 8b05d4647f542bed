#include "node/tables.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "node/expiry_sweep.h"
#include "node/member_scan.h"
#include "node/rethrow.h"
#include "stout/adapters/datalet_keys.h"
#include "stout/adapters/key_prefix_store.h"
#include "stout/join.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;

// Before what failed is tried again.
constexpr auto kTablePause = std::chrono::milliseconds(500);

}  // namespace

DataletOpener OpenerOf(DataletOpener open, const std::string& id) {
  if (id.empty()) return open;
  return [open = std::move(open), id](const std::string& url,
                                      Diagnostics* why) -> Result<std::unique_ptr<Store>> {
    auto store = open(url, why);
    if (!store) return store.error();
    return std::unique_ptr<Store>(std::make_unique<KeyPrefixStore>(
        std::shared_ptr<Store>(*std::move(store)), internal::TablePrefixOf(id)));
  };
}

struct Tables::Opened {
  Config config;                 // of this table
  std::unique_ptr<Store> own{};  // the table's part of the node's datalet
  std::unique_ptr<Keyspace> keyspace{};
  std::unique_ptr<MemberScan> scan{};
  std::unique_ptr<Table> table{};
};

Tables::Tables(Shared shared) : shared_(std::move(shared)) {}

Tables::~Tables() = default;

std::string Tables::IdOf(Revision created) { return fmt::format("t{}", created); }

bool Tables::IsReserved(std::string_view name) {
  return name == "default" || (name.size() > 1 && name.front() == 't' &&
                               name.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

void Tables::Start(NodeService& service, const std::string& self) {
  asio::post(shared_.clients, [this, &service, self] {
    if (leaving_) return;
    service_ = &service;
    self_ = self;
    service.tables = this;
    watch_ =
        shared_.registry.WatchRecords([this, clients = shared_.clients](RegistryTable records) {
          asio::post(clients, [this, records = std::move(records)]() mutable {
            records_ = std::move(records);
            Reconcile();
          });
        });
    asio::co_spawn(shared_.clients, Follow(), Rethrow());
  });
}

asio::awaitable<void> Tables::Follow() {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (;;) {
    timer.expires_after(kTablePause);
    co_await timer.async_wait(asio::use_awaitable);
    Reconcile();
    Bury();
  }
}

Table* Tables::Find(std::string_view name) const {
  const auto found = tables_.find(name);
  return found != tables_.end() ? found->second->table.get() : nullptr;
}

std::vector<Table*> Tables::open() const {
  std::vector<Table*> all;
  for (const auto& [name, opened] : tables_) all.push_back(opened->table.get());
  return all;
}

void Tables::Reconcile() {
  if (leaving_) return;
  for (auto at = tables_.begin(); at != tables_.end();) {
    const auto listed = records_.tables.find(at->first);
    const bool stays = listed != records_.tables.end()
                           ? IdOf(listed->second.revision) == at->second->table->id
                           : records_.damaged.contains("table/" + at->first);
    auto opened = stays ? nullptr : std::move(at->second);
    at = stays ? std::next(at) : tables_.erase(at);
    if (opened) Drop(std::move(opened));
  }
  for (const auto& [name, listed] : records_.tables) {
    const std::string id = IdOf(listed.revision);
    if (IsReserved(name) || tables_.contains(name) || !opening_.insert(id).second) continue;
    OpenLeases(name, id, listed.value);
  }
}

// The lease service may block.
void Tables::OpenLeases(const std::string& name, const std::string& id,
                        const ClusterConfig& config) {
  asio::post(opener_, [this, name, id, config] {
    Diagnostics why;
    auto leases = shared_.registry.OpenTable(id, &why);
    auto agreed = leases ? AgreeOnConfig(
                               *(*leases)->registry(), config, [](ClusterConfig&) {}, &why, 1)
                         : Result<ClusterConfig>(leases.error());
    Found found{name, id, nullptr, config};
    if (agreed) {
      found.leases = *std::move(leases);
      found.config = *agreed;
    } else {
      found.why = why.message;
    }
    {
      const std::lock_guard lock(mutex_);
      found_.push_back(std::move(found));
    }
    asio::post(shared_.clients, [this] {
      std::vector<Found> all;
      {
        const std::lock_guard lock(mutex_);
        all.swap(found_);
      }
      for (Found& each : all) Open(std::move(each));
    });
  });
}

void Tables::Open(Found found) {
  opening_.erase(found.id);
  if (!found.leases && complained_.insert(found.id).second) {
    spdlog::warn("table {} cannot be opened: {}; trying again", found.name, found.why);
  }
  const auto listed = records_.tables.find(found.name);
  const bool wanted = listed != records_.tables.end() && IdOf(listed->second.revision) == found.id;
  if (leaving_ || !found.leases) return;
  if (!wanted && !records_.damaged.contains("table/" + found.name)) {
    // It was dropped meanwhile, and its records may have been made again since they were removed.
    shared_.registry.Change(CreateTable(found.id, found.config),
                            [](ErrorCode, const ChangeAnswer&) {});
  }
  if (!wanted || tables_.contains(found.name)) return;
  auto opened = std::make_unique<Opened>(Opened{.config = shared_.config});
  opened->config.scope += '/' + found.id;
  opened->config.ranges = found.config.ranges;
  opened->config.cluster.partition = found.config.partition;
  if (shared_.datalet != nullptr) {
    opened->own = std::make_unique<KeyPrefixStore>(
        std::shared_ptr<Store>(std::shared_ptr<void>(), shared_.datalet),
        internal::TablePrefixOf(found.id));
  }
  opened->keyspace =
      MakeMember(shared_.keys, shared_.clients, opened->own.get(), std::move(found.leases),
                 opened->config, found.config, OpenerOf(shared_.open, found.id));
  Cluster* const cluster = opened->keyspace->cluster();
  cluster->peers.UseTls(service_->tls_context);
  cluster->peers.Greet({"STOUT.TABLE", "USE", found.name, found.id});
  opened->scan = MakeScan(opened->config, *cluster);
  opened->table.reset(new Table{.name = found.name,
                                .id = found.id,
                                .ranges = opened->keyspace->ranges(),
                                .store = *opened->scan,
                                .cluster = cluster});
  Table& table = *opened->table;
  table.deadlines.shared = true;
  opened->keyspace->Begin(self_);
  asio::co_spawn(
      shared_.clients,
      SweepForever(table.ranges, table.store, table.deadlines, shared_.config.sweep_interval),
      Rethrow());
  spdlog::info("table {} is open, as {}", found.name, found.id);
  tables_[found.name] = std::move(opened);
}

// It is kept until the node ends, without work of its own.
void Tables::Drop(std::unique_ptr<Opened> opened) {
  Table& table = *opened->table;
  table.dropped = true;
  table.deadlines.over = true;
  spdlog::info("table {} is dropped, as {}", table.name, table.id);
  opened->keyspace->Leave([cluster = table.cluster](ErrorCode) {
    cluster->retired = true;
    cluster->members->Retire();
  });
  dropped_.push_back(std::move(opened));
}

void Tables::Bury() {
  const auto& damaged = records_.damaged;  // it may be that of a table that lives
  const auto first = damaged.lower_bound("table/");
  if (leaving_ || (first != damaged.end() && first->first.starts_with("table/"))) return;
  for (const auto& [id, listed] : records_.tables) {
    const bool lives =
        std::any_of(records_.tables.begin(), records_.tables.end(),
                    [&id = id](const auto& each) { return IdOf(each.second.revision) == id; });
    if (!IsReserved(id) || lives) continue;
    shared_.registry.Change(DropTable(id, listed.revision), [](ErrorCode, const ChangeAnswer&) {});
  }
}

void Tables::Leave(Keyspace::Done done) { End(&Keyspace::Leave, std::move(done)); }

void Tables::Close(Keyspace::Done done) { End(&Keyspace::Close, std::move(done)); }

void Tables::End(void (Keyspace::*end)(Keyspace::Done), Keyspace::Done done) {
  asio::post(shared_.clients, [this, end, done = std::move(done)]() mutable {
    leaving_ = true;
    watch_ = {};
    const auto join = stout::internal::Join::Of(tables_.size(), std::move(done));
    for (const auto& each : tables_)
      ((*each.second->keyspace).*end)([join](ErrorCode ec) { join->Finish(ec); });
  });
}

void Tables::Stop() {
  opener_.stop();
  opener_.join();
}

void Tables::Clear() {
  watch_ = {};
  tables_.clear();
  dropped_.clear();
  found_.clear();
}

}  // namespace stout::node
