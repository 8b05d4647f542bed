#include "router/config.h"

#include <fmt/format.h>

#include <string>

#include "program/options.h"
#include "stout/adapters/open_lease_service.h"

namespace stout::docstore {
namespace {

void AddOptions(CLI::App& app, RouterConfig& config) {
  program::Options options(app);
  RouterOptions& router = config.router;
  HttpOptions& http = router.http;

  options.Group("Service");
  options.Text("--leases", config.leases,
               fmt::format("The lease service that the servers share: {}", LeaseServiceUrlSyntax()),
               "URL");
  options.Service(config);

  options.Group("Servers");
  options.Time("--retry-timeout", router.retry_timeout,
               "A request that nobody serves is tried again for so long, then answered 503; longer "
               "than the servers' --lease-ttl");
  options.Time("--connect-timeout", router.connect_timeout,
               "Longest time for a server to accept a connection");
  options.Time("--answer-timeout", router.answer_timeout,
               "Longest time for a server to answer (else 504); longer than the servers' "
               "--reply-deadline");
  options.Bytes("--kept-body-bytes", router.kept_body_bytes, 1,
                "First part of a request's body, kept to be sent once more");
  options.Bytes("--max-body-bytes-in-flight", http.max_body_bytes_in_flight, 1,
                "Most of these bytes in memory, over all connections: beyond it bodies are not "
                "read");
  options.Count("--max-idle", router.max_idle, program::kMaxCount,
                "Most connections to one server that wait for requests");
  options.Time("--server-idle-timeout", router.upstream_idle_timeout,
               "How long they wait; well below the servers' --idle-timeout");

  options.Group("Limits");
  options.Bytes("--max-header-bytes", http.max_header_bytes, 256,
                "Largest request header, trailer or line of a chunk; beyond it 431");
  options.Count("--max-connections", http.max_connections, program::kMaxCount,
                "Most connections at once; beyond it 503");
  options.Time("--idle-timeout", http.idle_timeout,
               "A connection without a request for this long is closed");
  options.Time("--request-timeout", http.request_timeout,
               "Longest time for a client to send a request that is kept, or the next part of a "
               "longer one (else 408), or to take a part of an answer");
}

}  // namespace

std::optional<int> ParseCommandLine(int argc, const char* const* argv, RouterConfig& config) {
  CLI::App app("Sends the requests for each document to the docstore-server that owns it.",
               "docstore-router");
  app.footer(
      "SIGTERM or SIGINT ends it in order: it accepts no more, and answers what it has read.\n"
      "It prints 'listening on HOST:PORT' on stdout once it serves, and logs on stderr.");
  AddOptions(app, config);
  return program::Parse(app, argc, argv, [&config] {
    return std::string(config.leases.empty() ? "--leases is required: see --help" : "");
  });
}

}  // namespace stout::docstore
