#include "router/run_router.h"

#include <spdlog/spdlog.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <utility>

#include "program/process.h"
#include "program/runners.h"
#include "program/shutdown.h"
#include "router/config.h"
#include "router/router.h"
#include "stout/adapters/open_lease_service.h"
#include "stout/adapters/store_url.h"

namespace stout::docstore {
namespace {

namespace asio = boost::asio;
using Done = UniqueFunction<void(ErrorCode)>;

int Serve(const RouterConfig& config, asio::io_context& context, LeaseService& leases) {
  Router router(context, leases, config.router);
  program::Shutdown shutdown(
      context, config.drain_timeout,
      [&](Done done) { router.Drain([done = std::move(done)]() mutable { done({}); }); },
      [&](Done done) {
        router.Close();
        done({});
      });

  const program::Runners runners(context, config.threads);
  const auto port = router.Listen(config.listen.host, config.listen.port);
  if (!port) {
    spdlog::error("cannot listen on {}: {}; choose another --listen", config.listen.Text(),
                  port.error().message());
    return EXIT_FAILURE;
  }
  spdlog::info("routing to the servers of {} on {} threads", Redacted(config.leases),
               config.threads);
  program::Announce({config.listen.host, *port});

  const int code = shutdown.Wait();
  spdlog::info("ended with exit code {}", code);
  return code;
}

}  // namespace

int RunRouter(int argc, const char* const* argv) {
  RouterConfig config;
  if (const auto code = ParseCommandLine(argc, argv, config)) return *code;
  program::SetUpLog("router", config.log_level);
  program::RaiseDescriptorLimit(2 * config.router.http.max_connections, "--max-connections");

  asio::io_context context(static_cast<int>(config.threads));
  Diagnostics why;
  const auto leases = OpenLeaseService(config.leases, context.get_executor(), &why);
  if (!leases) return program::CannotOpen("lease service", config.leases, leases.error(), why);
  return Serve(config, context, **leases);
}

}  // namespace stout::docstore
