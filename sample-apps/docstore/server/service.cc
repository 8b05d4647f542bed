#include "server/service.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "monitor/pages.h"
#include "protocol/fields.h"
#include "protocol/route.h"

namespace stout::docstore {
namespace {

// Scrapers and browsers need a few at a time.
constexpr std::size_t kMaxPages = 64;

http::Response TooManyPages() {
  return http::MakeUnavailable(
      fmt::format("{} pages for operators are being made, or are not read yet", kMaxPages),
      "repeat the request after Retry-After seconds; read the pages that you ask for");
}

// Returns what counts as a page while it exists; null if there are too many.
std::shared_ptr<void> TakePage(const std::shared_ptr<std::atomic<std::size_t>>& pages) {
  const auto give_back = [pages](std::atomic<std::size_t>* count) { count->fetch_sub(1); };
  const bool has_room = pages->fetch_add(1) < kMaxPages;
  const std::shared_ptr<void> page(pages.get(), give_back);
  return has_room ? page : nullptr;
}

// Keeps `page` until the body of the response is gone.
http::Response Hold(std::shared_ptr<void> page, http::Response response) {
  const std::string* const body = response.body.get();
  response.body = {body, [page = std::move(page), text = std::move(response.body)](const auto*) {}};
  return response;
}

}  // namespace

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

// Each of these pages is a text of its own, and the figures for it are larger still. So a client
// that asks for many and reads none must not get all of them.
void Service::ShowPage(const Route& route, const std::string& target, http::Respond respond) {
  std::shared_ptr<void> page = TakePage(pages_);
  if (page == nullptr) return respond(TooManyPages());
  if (route.resource == Route::Resource::kHistory)
    return respond(Hold(std::move(page), http::MakeJson(200, history_.Answer(target))));
  documents_.Collect([this, prometheus = route.resource == Route::Resource::kMetrics,
                      page = std::move(page), respond = std::move(respond)](auto shards) mutable {
    const auto tenants = TenantsOf(shards);
    const http::HttpSnapshot http = metrics_.Snapshot();
    respond(Hold(std::move(page), prometheus
                                      ? http::MakePrometheus(ToPrometheus(shards, tenants, http))
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
