// docstore-server: sectioned documents over HTTP, in memory and durable.

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "program/process.h"
#include "program/shutdown.h"
#include "server/config.h"
#include "server/server.h"
#include "stout/adapters/open_store.h"

namespace stout::docstore {
namespace {

namespace asio = boost::asio;

ErrorCode Open(Server& server) {
  std::promise<ErrorCode> opened;
  server.Open([&](ErrorCode ec) { opened.set_value(ec); });
  return opened.get_future().get();
}

int Serve(const Config& config, asio::io_context& context, Store& store) {
  if (const auto wrong = Interposer::Check(config.documents.map.engine, store.traits())) {
    spdlog::error("options do not suit the store: {}", *wrong);
    return EXIT_FAILURE;
  }
  Server server(context, store, config.documents, config.http);
  Shutdown shutdown(
      context, config.drain_timeout, [&](Server::Done done) { server.Drain(std::move(done)); },
      [&](Server::Done done) { server.Close(std::move(done)); });

  auto work = asio::make_work_guard(context);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < config.threads; ++i) threads.emplace_back([&] { context.run(); });
  const auto stop = [&](int code) {
    context.stop();
    threads.clear();
    return code;
  };

  if (const ErrorCode ec = Open(server)) {
    spdlog::error("cannot take over store {}: {}", config.store, ec.message());
    return stop(EXIT_FAILURE);
  }
  const auto port = server.Listen(config.listen.host, config.listen.port);
  if (!port) {
    spdlog::error("cannot listen on {}:{}: {}; choose another --listen", config.listen.host,
                  config.listen.port, port.error().message());
    return stop(EXIT_FAILURE);
  }
  spdlog::info("serving {} with policy {} on {} threads and {} shards", config.store,
               config.documents.map.engine.lane.write_policy.Name(), config.threads,
               config.documents.shards);
  if (!store.traits().durable) spdlog::warn("{} is not durable", store.traits().name);
  fmt::print("listening on {}:{}\n", config.listen.host, *port);
  std::fflush(stdout);

  const int code = shutdown.Wait();
  spdlog::info("ended with exit code {}", code);
  return stop(code);
}

int Main(int argc, char** argv) {
  Config config;
  if (const auto code = ParseCommandLine(argc, argv, config)) return *code;
  SetUpLog("docstore", config.log_level);
  RaiseDescriptorLimit(config.http.max_connections);

  asio::io_context context(static_cast<int>(config.threads));
  Diagnostics why;
  const auto store = OpenStore(config.store, context.get_executor(), &why);
  if (!store) {
    spdlog::error("cannot open store {}: {}", config.store,
                  why.message.empty() ? store.error().message() : why.message);
    return EXIT_FAILURE;
  }
  return Serve(config, context, **store);
}

}  // namespace
}  // namespace stout::docstore

int main(int argc, char** argv) { return stout::docstore::Main(argc, argv); }
