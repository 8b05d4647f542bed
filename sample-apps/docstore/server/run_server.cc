#include "server/run_server.h"

#include <fmt/format.h>
#include <malloc.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "monitor/store_warnings.h"
#include "program/process.h"
#include "program/runners.h"
#include "program/shutdown.h"
#include "server/change_recorder.h"
#include "server/config.h"
#include "server/server.h"
#include "stout/adapters/member_ranges.h"
#include "stout/adapters/open_lease_service.h"
#include "stout/adapters/open_store.h"
#include "stout/adapters/store_url.h"

namespace stout::docstore {
namespace {

namespace asio = boost::asio;

// By default glibc has eight arenas for each core. Each arena keeps its peak, so memory grows while
// threads take turns in having a lot. A fixed threshold for mapped blocks would save no more, and
// makes requests with sections of 256 KiB dearer by a third.
void LimitArenas(std::size_t threads) {
  mallopt(M_ARENA_MAX, static_cast<int>(std::max<std::size_t>(2, threads)));
}

// Serves until a signal ends it. Answers the exit code.
class Program {
 public:
  Program(const Config& config, asio::io_context& context, Store& store, LeaseService* leases)
      : config_(config), store_(&store), shared_(leases != nullptr), context_(context) {
    if (shared_) {
      server_ = std::make_unique<Server>(context, store, *leases, config.lease, config.documents,
                                         config.http);
    } else {
      server_ = std::make_unique<Server>(context, store, config.documents, config.http);
    }
  }
  Program(const Config& config, asio::io_context& context, const MemberStores& stores,
          LeaseService& leases)
      : config_(config), shared_(true), context_(context) {
    server_ = std::make_unique<Server>(context, stores, leases, config.lease, config.documents,
                                       config.http);
  }

  int Run() {
    server_->ShowRecorded(config_.recorded);
    program::Shutdown shutdown(
        context_, config_.drain_timeout,
        [this](Server::Done done) { server_->Drain(std::move(done)); },
        [this](Server::Done done) { server_->Close(std::move(done)); });
    const program::Runners runners(context_, config_.threads);
    // Listens first: a second server on one address must not shut the first one out of the store.
    const bool serves = Listen() && Open(shutdown) && Announce();
    const int code = serves || shutdown.begun() ? shutdown.Wait() : EXIT_FAILURE;
    spdlog::info("ended with exit code {}", code);
    return code;
  }

 private:
  // Returns false if the store does not open, if the lease service refuses this server, or if a
  // signal has come before that is known.
  bool Open(const program::Shutdown& shutdown) {
    std::promise<ErrorCode> opened;
    server_->Open(Advertised(), [&](ErrorCode ec) { opened.set_value(ec); });
    const ErrorCode ec = opened.get_future().get();
    if (!ec || shutdown.begun()) return !ec;
    if (shared_) {
      spdlog::error("cannot join {}: see the reason above", Redacted(config_.leases));
    } else {
      spdlog::error("cannot take over store {}: {}", Redacted(config_.store), ec.message());
    }
    return false;
  }

  bool Listen() {
    const auto port = server_->Listen(config_.listen.host, config_.listen.port);
    if (port) {
      listening_ = {config_.listen.host, *port};
    } else {
      spdlog::error("cannot listen on {}: {}; choose another --listen", config_.listen.Text(),
                    port.error().message());
    }
    return bool(port);
  }

  bool Announce() const {
    spdlog::info("serving {} with policy {} on {} threads and {}",
                 store_ != nullptr ? Redacted(config_.store) : "documents on several stores",
                 config_.documents.map.engine.lane.write_policy.Name(), config_.threads,
                 shared_ ? fmt::format("{} ranges, shared under {}", config_.lease.ranges,
                                       Redacted(config_.leases))
                         : fmt::format("{} shards", config_.documents.shards));
    if (store_ != nullptr) monitor::WarnAboutStore(store_->traits());
    program::Announce(listening_);
    return true;
  }

  [[nodiscard]] std::string Advertised() const {
    return config_.advertise.empty() ? listening_.Text() : config_.advertise;
  }

  const Config& config_;
  Store* const store_ = nullptr;  // null: the documents are on several stores
  const bool shared_;
  asio::io_context& context_;
  std::unique_ptr<Server> server_;
  program::Address listening_;
};

// Serves documents that are kept on several stores. Returns the exit code.
int RunOnMembers(Config& config, asio::io_context& context, LeaseService& leases) {
  Diagnostics why;
  const auto agreed = JoinDeployment(
      context, leases, config.cluster, config.given, config.datalets,
      [&context](const std::string& url, Diagnostics* why_not) {
        return OpenStore(url, context.get_executor(), why_not);
      },
      &why);
  if (!agreed) {
    spdlog::error("cannot join {}: {}", Redacted(config.leases), why.message);
    return EXIT_FAILURE;
  }
  config.lease.ranges = agreed->ranges;
  return Program(config, context, MemberStores{*agreed, config.datalets}, leases).Run();
}

}  // namespace

int RunServer(int argc, const char* const* argv, const PolicyLanguage& policies) {
  Config config;
  if (const auto code = ParseCommandLine(argc, argv, config, policies)) return *code;
  LimitArenas(config.threads);
  program::SetUpLog("docstore", config.log_level);
  program::RaiseDescriptorLimit(config.http.max_connections, "--max-connections");

  if (!config.record.empty()) {
    std::string problem;
    config.documents.recorder = ChangeRecorder::Open(config.record, problem);
    if (!config.documents.recorder) {
      spdlog::error("{}", problem);
      return EXIT_FAILURE;
    }
  }
  asio::io_context context(static_cast<int>(config.threads));
  Diagnostics why;
  std::unique_ptr<LeaseService> leases;
  if (!config.leases.empty()) {
    auto opened = OpenLeaseService(config.leases, context.get_executor(), &why);
    if (!opened) return program::CannotOpen("lease service", config.leases, opened.error(), why);
    leases = std::move(*opened);
  }
  if (!config.datalets.empty()) return RunOnMembers(config, context, *leases);
  const auto store = OpenStore(config.store, context.get_executor(), &why);
  if (!store) return program::CannotOpen("store", config.store, store.error(), why);
  if (const auto wrong = Interposer::Check(config.documents.map.engine, (*store)->traits())) {
    spdlog::error("options do not suit the store: {}", *wrong);
    return EXIT_FAILURE;
  }
  return Program(config, context, **store, leases.get()).Run();
}

}  // namespace stout::docstore
