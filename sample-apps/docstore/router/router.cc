#include "router/router.h"

#include <spdlog/spdlog.h>

#include <memory>
#include <string>

namespace stout::docstore {

Router::Router(boost::asio::io_context& context, LeaseService& leases, const RouterOptions& options)
    : options_(options),
      bodies_(options.http.max_body_bytes_in_flight),
      pool_(options.max_idle, options.upstream_idle_timeout),
      owners_(leases),
      pages_(owners_, pool_, http_, metrics_),
      listener_(context, http_, options.http.max_connections,
                [this, &context](http::SessionSocket socket, RoutingSession::OnEnd on_end) {
                  const RouterParts parts{context, options_, owners_, pool_,
                                          http_,   metrics_, pages_,  bodies_};
                  return std::make_shared<RoutingSession>(std::move(socket), parts,
                                                          std::move(on_end));
                }),
      subscription_(owners_.Subscribe([this] { OnLeasesChanged(); })) {
  http_.Watch(bodies_);
}

void Router::OnLeasesChanged() {
  const auto table = owners_.table();
  // A server that has left says goodbye to idle connections: a request may not meet that.
  pool_.KeepOnly(table->members);
  spdlog::info("{} servers, {} of {} ranges have an owner", table->members.size(), owners_.owned(),
               table->ranges.size());
  if (const std::string why = owners_.WhyForeign(); !why.empty()) {
    spdlog::error("{}: no request can be routed; give the --leases of docstore-servers", why);
  }
}

}  // namespace stout::docstore
