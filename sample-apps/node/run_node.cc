#include "node/run_node.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "node/config.h"
#include "node/node_service.h"
#include "program/process.h"
#include "program/shutdown.h"
#include "resp/server/listener.h"
#include "stout/adapters/open_store.h"
#include "stout/adapters/store_url.h"
#include "stout/write_back_map.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;

// Threads that run a context until the object is destroyed.
class Runners {
 public:
  Runners(asio::io_context& context, std::size_t threads)
      : context_(context), work_(asio::make_work_guard(context)) {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([&context] { context.run(); });
  }
  Runners(const Runners&) = delete;
  Runners& operator=(const Runners&) = delete;
  ~Runners() { context_.stop(); }

 private:
  asio::io_context& context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::vector<std::jthread> threads_;
};

void WarnAboutStore(const StoreTraits& traits) {
  if (!traits.durable) {
    spdlog::warn("{} is not durable: nothing survives the end of the node", traits.name);
  }
  if (!traits.fences) {
    spdlog::warn(
        "{} has no fences as it is opened: if a second node opens the same data, acknowledged "
        "writes can be lost; stop the old node before you start the new one, or use a store with "
        "fences (docs/STORES.md)",
        traits.name);
  }
}

// Serves until a signal ends it. Returns the exit code.
int Serve(const Config& config, asio::io_context& clients, asio::io_context& keys, Store& store) {
  WriteBackMap map(keys.get_executor(), store, config.map);
  NodeService service(map, store, config.password);
  service.limits = config.limits;
  // A second signal would end the drain.
  service.shut_down = [asked = false]() mutable {
    if (!std::exchange(asked, true)) std::raise(SIGTERM);
  };
  resp::Listener listener(clients, service);
  // Listen before the store is taken over. Otherwise a second node that cannot get the port would
  // still shut the first one out. Clients are accepted when `clients` runs.
  Diagnostics why;
  if (listener.Listen(config.listen.host.empty() ? "0.0.0.0" : config.listen.host,
                      config.listen.port, &why)) {
    spdlog::error("{}", why.message);
    return EXIT_FAILURE;
  }
  const Runners key_runners(keys, config.threads);
  try {
    map.interposer().AsyncOpenScope(config.scope, asio::use_future).get();
  } catch (const std::exception& error) {
    spdlog::error("cannot take over store {}: {}", Redacted(config.store), error.what());
    return EXIT_FAILURE;
  }
  program::Shutdown shutdown(
      clients, config.drain_timeout,
      [&](UniqueFunction<void(ErrorCode)> done) {
        listener.Drain([&map, done = std::move(done)]() mutable {
          asio::post(map.get_executor(), [&map, done = std::move(done)]() mutable {
            map.interposer().Drain([done = std::move(done)](ErrorCode ec) mutable {
              done(ec == Errc::kFenced ? ErrorCode() : ec);  // another node has the keys
            });
          });
        });
      },
      [&](UniqueFunction<void(ErrorCode)> done) {
        asio::post(map.get_executor(), [&map, done = std::move(done)]() mutable {
          map.interposer().Close();
          done({});
        });
      });
  const Runners client_runner(clients, 1);
  spdlog::info("serving {} with policy {}", Redacted(config.store),
               config.map.engine.lane.write_policy.Name());
  fmt::print("listening on {}\n", program::Address{config.listen.host, service.port}.Text());
  std::fflush(stdout);
  return shutdown.Wait();
}

int Run(const Config& config) {
  // Handlers of `keys` refer to connections of `clients`, so `clients` is destroyed last.
  asio::io_context clients(1);
  asio::io_context keys(static_cast<int>(config.threads));
  Diagnostics why;
  const auto store = OpenStore(config.store, keys.get_executor(), &why);
  if (!store) {
    spdlog::error("cannot open store {}: {}", Redacted(config.store),
                  why.message.empty() ? store.error().message() : why.message);
    return EXIT_FAILURE;
  }
  const StoreTraits& traits = (*store)->traits();
  if (const auto wrong = Interposer::Check(config.map.engine, traits)) {
    spdlog::error("options do not suit the store: {}", *wrong);
    return EXIT_FAILURE;
  }
  WarnAboutStore(traits);
  const int code = Serve(config, clients, keys, **store);
  spdlog::info("ended with exit code {}", code);
  return code;
}

}  // namespace

int RunNode(int argc, const char* const* argv) {
  Config config;
  if (const auto code = ParseCommandLine(argc, argv, config)) return *code;
  program::SetUpLog("stout-node", config.log_level);
  program::RaiseDescriptorLimit(config.limits.max_clients, "--max-clients");
  try {
    return Run(config);
  } catch (const std::exception& error) {
    spdlog::error("{}", error.what());
    return EXIT_FAILURE;
  }
}

}  // namespace stout::node
