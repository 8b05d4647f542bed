#include "node/run_node.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "monitor/store_warnings.h"
#include "node/config.h"
#include "node/datalet_id.h"
#include "node/expiry_sweep.h"
#include "node/keyspace.h"
#include "node/member_scan.h"
#include "node/node_monitor.h"
#include "node/node_service.h"
#include "node/open_datalet.h"
#include "node/rethrow.h"
#include "node/tables.h"
#include "program/process.h"
#include "program/runners.h"
#include "program/shutdown.h"
#include "resp/server/listener.h"
#include "stout/adapters/datalet_url.h"
#include "stout/adapters/member_ranges.h"
#include "stout/adapters/open_lease_service.h"
#include "stout/adapters/open_store.h"
#include "stout/adapters/store_url.h"
#include "stout/interposer.h"
#include "stout/join.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;

// Begins the end of the process. Only the first call counts, because a second signal would end the
// drain.
void End() {
  static std::atomic<bool> asked = false;
  if (!asked.exchange(true)) std::raise(SIGTERM);
}

// What only a node of a deployment has.
struct Membership {
  MemberScan* scan = nullptr;  // closed once nothing runs
  Tables* tables = nullptr;    // started when the node serves
  Store* datalet = nullptr;    // served to other nodes
  std::string data_id{};       // of the datalet, if it is durable
  // Datalets of other nodes are met as this service would be.
  std::atomic<NodeService*>* service = nullptr;
};

// Serves until a signal ends it. Returns the exit code. `store` lists the keys.
int Serve(const Config& config, asio::io_context& clients, asio::io_context& keys, Store& store,
          std::unique_ptr<Keyspace> made, NodeMonitor& monitor, const Membership& membership = {}) {
  NodeService service(made->ranges(), store, made->cluster(), config.password);
  const std::unique_ptr<Keyspace> owned = std::move(made);  // its stores may use the service
  Keyspace& keyspace = *owned;
  service.datalet = membership.datalet;
  service.tenants = config.tenants;
  // Without a datalet of its own, a member opens stores that others may serve.
  service.local_store = membership.scan != nullptr ? membership.datalet : &store;
  if (service.local_store != nullptr) service.local_store->Obey(config.tenants);
  if (!membership.data_id.empty()) service.data_id = membership.data_id;
  if (membership.service != nullptr) *membership.service = &service;
  service.limits = config.limits;
  service.reply_deadline = config.map.engine.reply_deadline;
  service.shut_down = End;
  service.tls = config.tls;
  resp::Listener listener(clients, service);
  // Listen before the store is taken over. Otherwise a second node that cannot get the port would
  // still shut the first one out.
  Diagnostics why;
  if (listener.Listen(config.listen.host.empty() ? "0.0.0.0" : config.listen.host,
                      config.listen.port, &why) ||
      listener.ListenLocal(config.unix_socket, &why)) {
    spdlog::error("{}", why.message);
    return EXIT_FAILURE;
  }
  const program::Address listening{config.listen.host, service.port};
  const bool advertised = !config.advertise.host.empty();
  program::Runners key_runners(keys, config.threads);
  const std::string self = (advertised ? config.advertise : listening).Text();
  const std::string problem = keyspace.Open(self);
  if (!problem.empty()) {
    spdlog::error("{}", problem);
    return EXIT_FAILURE;
  }
  Tables* const tables = membership.tables;
  const NodeMonitor::Shown shown(monitor, service, clients);
  program::Shutdown shutdown(
      clients, config.drain_timeout,
      [&](Keyspace::Done done) {
        monitor.BeginDrain();
        const auto left = internal::Join::Of(2, [&, done = std::move(done)](ErrorCode ec) mutable {
          listener.Drain([&, ec, done = std::move(done)]() mutable {
            keyspace.Drain([ec, done = std::move(done)](ErrorCode drained) mutable {
              done(ec ? ec : drained);
            });
          });
        });
        keyspace.Leave([left](ErrorCode ec) { left->Finish(ec); });
        tables != nullptr ? tables->Leave([left](ErrorCode ec) { left->Finish(ec); })
                          : left->Finish({});
      },
      [&](Keyspace::Done done) {
        if (tables == nullptr) return keyspace.Close(std::move(done));
        const auto closed = internal::Join::Of(2, std::move(done));
        keyspace.Close([closed](ErrorCode ec) { closed->Finish(ec); });
        tables->Close([closed](ErrorCode ec) { closed->Finish(ec); });
      });
  if (tables != nullptr) tables->Start(service, self);
  if (store.traits().scans && store.traits().opaque_values) {
    service.main.deadlines.shared = keyspace.cluster() != nullptr;
    asio::co_spawn(
        clients,
        SweepForever(keyspace.ranges(), store, service.main.deadlines, config.sweep_interval),
        Rethrow());
  }
  program::Runners client_runner(clients, &clients == &keys ? 0 : 1);
  asio::post(clients, [&listener] { listener.Start(); });
  spdlog::info("serving {} with policy {}{}", Redacted(config.store + config.datalet),
               config.map.engine.lane.write_policy.Name(),
               config.join.empty() ? ""
                                   : fmt::format(", {} ranges shared under {}", config.ranges,
                                                 Redacted(config.join)));
  program::Announce(listening);
  const int code = shutdown.Wait();
  if (tables != nullptr) tables->Stop();
  // Their handlers use what is destroyed now.
  client_runner.Stop();
  key_runners.Stop();
  if (tables != nullptr) tables->Clear();
  if (membership.scan != nullptr) membership.scan->Close();
  return code;
}

// Serves a deployment whose stores are datalets. Returns the exit code.
int RunMember(Config& config, asio::io_context& clients, asio::io_context& keys,
              NodeMonitor& monitor) {
  Diagnostics why;
  std::unique_ptr<Store> datalet;
  if (IsEmbedded(config.datalet)) {
    auto store = OpenStore(config.datalet, keys.get_executor(), &why);
    if (!store) return program::CannotOpen("datalet", config.datalet, store.error(), why);
    datalet = *std::move(store);
    // Memory is gone as a whole; other nodes notice that.
    if (!datalet->traits().durable && !config.datalet.starts_with("memory:")) {
      spdlog::error(
          "{} is not durable as it is opened: it could lose acknowledged writes unnoticed",
          Redacted(config.datalet));
      return EXIT_FAILURE;
    }
    if (const char* const unsuited = WhyUnsuited(datalet->traits())) {
      spdlog::error("{} cannot be a datalet: {}", Redacted(config.datalet), unsuited);
      return EXIT_FAILURE;
    }
  }
  if (datalet) monitor::WarnAboutStore(datalet->traits());
  Membership membership{.datalet = datalet.get()};
  if (datalet && datalet->traits().durable) {
    const auto data_id = DataIdOf(*datalet, &why);
    if (!data_id) return program::CannotOpen("datalet", config.datalet, data_id.error(), why);
    membership.data_id = *data_id;
  }
  auto leases = OpenLeaseService(config.join, keys.get_executor(), &why);
  if (!leases) return program::CannotOpen("lease service", config.join, leases.error(), why);
  std::vector<std::string> brought;
  if (!datalet) brought.push_back(config.datalet);
  const auto agreed = JoinDeployment(
      keys, **leases, config.cluster, config.given, brought,
      [&keys](const std::string& url, Diagnostics* why_not) {
        return OpenStore(url, keys.get_executor(), why_not);
      },
      &why);
  if (!agreed) {
    spdlog::error("cannot join {}: {}", Redacted(config.join), why.message);
    return EXIT_FAILURE;
  }
  if (config.mode_given && agreed->mode != config.cluster.mode) {
    spdlog::warn("the deployment is in mode {}: --mode is for a new deployment; use STOUT.MODE",
                 NameOf(agreed->mode));
  }
  config.cluster = *agreed;
  config.ranges = agreed->ranges;
  std::atomic<NodeService*> service = nullptr;
  membership.service = &service;
  const DataletOpener open = [&service, &keys](const std::string& url, Diagnostics* why_not) {
    return OpenDatalet(url, *service, keys.get_executor(), why_not);
  };
  auto keyspace = MakeMember(keys.get_executor(), clients.get_executor(), datalet.get(),
                             std::move(*leases), config, *agreed, open);
  Cluster& cluster = *keyspace->cluster();
  const auto scan = MakeScan(config, cluster);
  membership.scan = scan.get();
  Tables tables({config, keys.get_executor(), clients.get_executor(), *cluster.registry,
                 datalet.get(), open});
  membership.tables = &tables;
  return Serve(config, clients, keys, *scan, std::move(keyspace), monitor, membership);
}

int Run(Config& config) {
  NodeMonitor monitor(config);
  Diagnostics why;
  if (monitor.Listen(&why)) {
    spdlog::error("{}", why.message);
    return EXIT_FAILURE;
  }
  // Handlers of `keys` refer to connections of `clients`, so `clients` is destroyed last. One
  // thread serves both, because to wake another one takes as long as a command.
  asio::io_context clients(1);
  std::optional<asio::io_context> other;
  if (config.threads > 1) other.emplace(static_cast<int>(config.threads));
  asio::io_context& keys = other ? *other : clients;
  if (!config.datalet.empty()) {
    const int code = RunMember(config, clients, keys, monitor);
    spdlog::info("ended with exit code {}", code);
    return code;
  }
  const auto store = OpenStore(config.store, keys.get_executor(), &why);
  if (!store) return program::CannotOpen("store", config.store, store.error(), why);
  const StoreTraits& traits = (*store)->traits();
  if (const auto wrong = Interposer::Check(config.map.engine, traits)) {
    spdlog::error("options do not suit the store: {}", *wrong);
    return EXIT_FAILURE;
  }
  monitor::WarnAboutStore(traits);
  Store& watched = monitor.Watch(**store);
  std::unique_ptr<Keyspace> keyspace;
  if (config.join.empty()) {
    keyspace = MakeAlone(keys.get_executor(), watched, config, [logged = false]() mutable {
      if (std::exchange(logged, true)) return;
      spdlog::error("another node has taken over the store: this one ends");
      End();
    });
  } else {
    if (!traits.fences) {
      spdlog::error(
          "--join needs a store with fences, and {} has none as it is opened: see "
          "docs/STORES.md",
          traits.name);
      return EXIT_FAILURE;
    }
    auto leases = OpenLeaseService(config.join, keys.get_executor(), &why);
    if (!leases) return program::CannotOpen("lease service", config.join, leases.error(), why);
    keyspace = MakeShared(keys.get_executor(), clients.get_executor(), watched, std::move(*leases),
                          config);
  }
  const int code = Serve(config, clients, keys, watched, std::move(keyspace), monitor);
  spdlog::info("ended with exit code {}", code);
  return code;
}

}  // namespace

int RunNode(int argc, const char* const* argv) {
  Config config;
  if (const auto code = ParseCommandLine(argc, argv, config)) return *code;
  program::SetUpLog("stout-node", config.log_level);
  program::RaiseDescriptorLimit(config.limits.max_clients + config.limits.max_servers,
                                "--max-clients");
  try {
    return Run(config);
  } catch (const std::exception& error) {
    spdlog::error("{}", error.what());
    return EXIT_FAILURE;
  }
}

}  // namespace stout::node
