#include "router/router_pages.h"

#include <string>
#include <utility>

#include "stout/error.h"

namespace stout::docstore {

http::Response RouterPages::Show(Route::Resource page) const {
  switch (page) {
    case Route::Resource::kMetrics:
    case Route::Resource::kStats:
      return ShowFigures(page);
    case Route::Resource::kPage:
    case Route::Resource::kHistory:
      return http::MakeError(404, "a router has no page of its own",
                             "ask a server for it; /stats has the address of each range's owner");
    default:
      return Health();
  }
}

http::Response RouterPages::ShowFigures(Route::Resource page) const {
  http::PageLimit::Page place = limit_.Take();
  if (place == nullptr) return http::PageLimit::TooMany();
  return http::PageLimit::Hold(
      std::move(place),
      page == Route::Resource::kMetrics
          ? http::MakePrometheus(ToPrometheus(Snapshot(), http_.Snapshot()))
          : http::MakeJson(200, ToJson(Snapshot(), *owners_.table(), http_.Snapshot())));
}

http::Response RouterPages::Health() const {
  if (draining_) return http::MakeDraining();
  if (const std::string why = owners_.WhyForeign(); !why.empty()) {
    return http::MakeUnavailable(why, "start the router with the --leases of docstore-servers");
  }
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
