#include "router/config.h"

#include <fmt/format.h>

#include <string>

#include "program/command_line.h"
#include "program/options.h"
#include "stout/adapters/open_lease_service.h"

namespace stout::docstore {
namespace {

void AddOptions(CLI::App& app, RouterConfig& config) {
  program::Options options(app);
  RouterOptions& router = config.router;
  http::HttpOptions& http = router.http;

  options.Group("Service");
  options.Text("--leases", config.leases,
               fmt::format("Required: the lease service that the servers share: {}",
                           LeaseServiceUrlSyntax()),
               "URL");
  options.Service(config);

  options.Group("Servers");
  options.Time("--retry-timeout", router.retry_timeout,
               "A request that no server serves is retried for this time after it was read, then "
               "answered 503. Use more than the servers' --lease-ttl");
  options.Time("--connect-timeout", router.connect_timeout,
               "Longest time to look up a server's name and to connect to it");
  options.Time("--answer-timeout", router.answer_timeout,
               "Longest time for a server to answer (otherwise 504). Use more than the servers' "
               "--reply-deadline");
  options.Bytes("--kept-body-bytes", router.kept_body_bytes, 1,
                "First part of a request body, kept for a retry");
  options.Bytes("--max-body-bytes-in-flight", http.max_body_bytes_in_flight, 1,
                "Maximum bytes of these parts in memory over all connections; further bodies wait");
  options.Count("--max-idle", router.max_idle, 1, program::kMaxCount,
                "Maximum idle connections to one server");
  options.Time("--server-idle-timeout", router.upstream_idle_timeout,
               "An idle connection to a server is closed after this time. Use much less than the "
               "servers' --idle-timeout");

  options.Group("Limits");
  options.Bytes("--max-header-bytes", http.max_header_bytes, 256,
                "Largest request header, trailer or line of a chunk; a larger one is answered 431");
  options.Count("--max-connections", http.max_connections, 1, program::kMaxCount,
                "Maximum connections at once; a further one is answered 503");
  options.Time("--idle-timeout", http.idle_timeout,
               "A connection without a request for this time is closed");
  options.Time("--request-timeout", http.request_timeout,
               "Longest time for a client to send a request that is kept, or the next part of a "
               "longer one (otherwise 408), or to take a part of an answer");
  options.Bytes("--min-body-rate", http.min_body_rate, 0,
                "Minimum average rate of a request body in bytes per second, from the time when it "
                "has room in memory. Checked once the router has waited for it for 10 s (otherwise "
                "408); 0 allows any rate");
}

}  // namespace

std::optional<int> ParseCommandLine(int argc, const char* const* argv, RouterConfig& config) {
  CLI::App app("Sends each request to the docstore-server that owns the document.",
               "docstore-router");
  app.footer(
      "After SIGTERM or SIGINT the router accepts no new connections, and answers the requests "
      "that it has read.\n"
      "It prints 'listening on HOST:PORT' on stdout once it serves, and logs on stderr.");
  AddOptions(app, config);
  program::AddConfigFile(app);
  return program::ReadArguments(app, argc, argv, [&config] {
    return std::string(config.leases.empty()
                           ? "--leases is required: give the URL of the servers' lease service"
                           : "");
  });
}

}  // namespace stout::docstore
