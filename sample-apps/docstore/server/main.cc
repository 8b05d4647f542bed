// docstore-server: sectioned documents over HTTP, in memory and durable.

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "server/config.h"
#include "server/server.h"
#include "stout/adapters/open_store.h"
#include "stout/core/policy/basic.h"

namespace stout::docstore {
namespace {

namespace asio = boost::asio;

// From the first signal to the end of the process: an orderly drain, cut short by a second signal
// or the time-out.
class Shutdown {
 public:
  Shutdown(asio::io_context& context, Server& server, std::chrono::nanoseconds timeout)
      : server_(server), timeout_(timeout), signals_(context, SIGINT, SIGTERM), timer_(context) {
    signals_.async_wait([this](ErrorCode ec, int signal) {
      if (!ec) Drain(signal);
    });
  }

  /// The exit code of the process, once it may end.
  [[nodiscard]] int Wait() { return code_.get_future().get(); }

 private:
  void Drain(int signal) {
    spdlog::info("signal {}: draining for at most {}", signal, FormatDuration(timeout_));
    signals_.async_wait([this](ErrorCode ec, int) {
      if (!ec) Cut("second signal");
    });
    timer_.expires_after(timeout_);
    timer_.async_wait([this](ErrorCode ec) {
      if (!ec) Cut("--drain-timeout passed");
    });
    server_.Drain([this](ErrorCode ec) {
      if (ec) return Cut("the drain failed: " + ec.message());
      if (Claim()) code_.set_value(EXIT_SUCCESS);
    });
  }

  void Cut(const std::string& why) {
    if (!Claim()) return;
    spdlog::error("{}: closing at once; changes that were not answered may be lost", why);
    server_.Close([this](ErrorCode) { code_.set_value(EXIT_FAILURE); });
  }

  // One way to end wins.
  bool Claim() { return !ending_.exchange(true); }

  Server& server_;
  const std::chrono::nanoseconds timeout_;
  asio::signal_set signals_;
  asio::steady_timer timer_;
  std::atomic<bool> ending_ = false;
  std::promise<int> code_;
};

void SetUpLog(const std::string& level) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("docstore"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
  spdlog::set_level(spdlog::level::from_str(level));
}

// A connection needs a descriptor, and the usual soft limit is 1024.
void RaiseDescriptorLimit(std::size_t connections) {
  constexpr std::size_t kOwn = 256;  // the store's files, and room
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < connections + kOwn) {
    spdlog::warn(
        "the system allows {} open files: fewer than --max-connections can be served; "
        "raise 'ulimit -n'",
        limit.rlim_cur);
  }
}

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
  Shutdown shutdown(context, server, config.drain_timeout);

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
  const auto port = server.Listen(config.host, config.port);
  if (!port) {
    spdlog::error("cannot listen on {}:{}: {}; choose another --listen", config.host, config.port,
                  port.error().message());
    return stop(EXIT_FAILURE);
  }
  spdlog::info("serving {} with policy {} on {} threads and {} shards", config.store,
               config.documents.map.engine.lane.write_policy.Name(), config.threads,
               config.documents.shards);
  if (!store.traits().durable) spdlog::warn("{} is not durable", store.traits().name);
  fmt::print("listening on {}:{}\n", config.host, *port);
  std::fflush(stdout);

  const int code = shutdown.Wait();
  spdlog::info("ended with exit code {}", code);
  return stop(code);
}

int Main(int argc, char** argv) {
  Config config;
  if (const auto code = ParseCommandLine(argc, argv, config)) return *code;
  SetUpLog(config.log_level);
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
