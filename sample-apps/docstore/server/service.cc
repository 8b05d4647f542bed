#include "server/service.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "monitor/pages.h"
#include "protocol/fields.h"
#include "protocol/route.h"

namespace stout::docstore {

void Service::Handle(http::Request request, http::Respond respond) {
  http::Response error;
  const std::optional<Route> route = FindRoute(request.method, request.target, error);
  if (!route) return respond(std::move(error));
  switch (route->resource) {
    case Route::Resource::kSection:
    case Route::Resource::kDocument:
      return HandleDocument(*route, std::move(request), std::move(respond));
    case Route::Resource::kHealth:
      return Health(std::move(respond));
    case Route::Resource::kPage:
      return respond(monitor::MakeLivePage());
    case Route::Resource::kMetrics:
    case Route::Resource::kStats:
    case Route::Resource::kHistory:
      return ShowPage(*route, request.target, std::move(respond));
  }
}

// The figures for a page are larger than its text, so a page counts from its request on.
void Service::ShowPage(const Route& route, const std::string& target, http::Respond respond) {
  http::PageLimit::Page page = pages_.Take();
  if (page == nullptr) return respond(http::PageLimit::TooMany());
  if (route.resource == Route::Resource::kHistory)
    return respond(
        http::PageLimit::Hold(std::move(page), http::MakeJson(200, history_.Answer(target))));
  documents_.Collect([this, prometheus = route.resource == Route::Resource::kMetrics,
                      page = std::move(page), respond = std::move(respond)](auto shards) mutable {
    const auto tenants = TenantsOf(shards);
    const http::HttpSnapshot http = metrics_.Snapshot();
    respond(http::PageLimit::Hold(
        std::move(page), prometheus ? http::MakePrometheus(ToPrometheus(shards, tenants, http))
                                    : http::MakeJson(200, ToJson(shards, tenants, http))));
  });
}

void Service::HandleDocument(const Route& route, http::Request request, http::Respond respond) {
  TenantId tenant = 0;
  if (tenants_ != nullptr && !request.tenant.empty()) {
    if (!Tenants::IsName(request.tenant)) {
      return respond(
          http::MakeError(400, fmt::format("the value of {} is no name of a tenant", kTenantField),
                          fmt::format("send one header with {}", Tenants::kNameRule)));
    }
    tenant = tenants_->IdOf(request.tenant);
  }
  documents_.Handle({.method = request.method,
                     .document = std::string(route.document),
                     .section = std::string(route.section),
                     .preconditions = std::move(request.preconditions),
                     .body = std::move(request.body),
                     .tenant = tenant},
                    std::move(respond));
}

std::vector<monitor::TenantSnapshot> Service::TenantsOf(
    const std::vector<ShardSnapshot>& shards) const {
  std::vector<monitor::TenantSnapshot> all;
  if (tenants_ == nullptr) return all;
  std::vector<TenantStats> of_store;
  if (store_ != nullptr) of_store = store_->CachedByTenant();
  const std::vector<std::string> names = tenants_->Names();  // after the figures: all are in
  for (const ShardSnapshot& shard : shards)
    monitor::AddTenants(shard.tenants, names, "records", all);
  monitor::AddTenants(of_store, names, "store", all);
  monitor::MarkCrowded(all);
  return all;
}

void Service::Health(http::Respond respond) {
  if (draining_) return respond(http::MakeDraining());
  documents_.Health(std::move(respond));
}

}  // namespace stout::docstore
