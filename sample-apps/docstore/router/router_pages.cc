#include "router/router_pages.h"

#include "stout/error.h"

namespace stout::docstore {

http::Response RouterPages::Show(Route::Resource page) const {
  switch (page) {
    case Route::Resource::kMetrics:
      return http::MakePrometheus(ToPrometheus(Snapshot(), http_.Snapshot()));
    case Route::Resource::kStats:
      return http::MakeJson(200, ToJson(Snapshot(), *owners_.table(), http_.Snapshot()));
    case Route::Resource::kPage:
    case Route::Resource::kHistory:
      return http::MakeError(404, "a router has no page of its own",
                             "ask a server for it; /stats has the address of each range's owner");
    default:
      return Health();
  }
}

http::Response RouterPages::Health() const {
  if (draining_) return http::MakeDraining();
  if (owners_.owned() > 0) return http::MakeHealthy();
  return http::MakeUnavailable("no server owns any document, as far as is known",
                               "look at the servers and at the lease service of --leases");
}

RouterSnapshot RouterPages::Snapshot() const {
  RouterSnapshot snapshot = metrics_.Snapshot();
  snapshot.idle_connections = pool_.idle();
  snapshot.members = owners_.table()->members.size();
  snapshot.owned_ranges = owners_.owned();
  return snapshot;
}

}  // namespace stout::docstore
