#include "server/service.h"

#include <string>
#include <utility>

#include "monitor/pages.h"
#include "protocol/route.h"

namespace stout::docstore {
void Service::Handle(http::Request request, http::Respond respond) {
  http::Response error;
  const std::optional<Route> route = FindRoute(request.method, request.target, error);
  if (!route) return respond(std::move(error));
  switch (route->resource) {
    case Route::Resource::kSection:
    case Route::Resource::kDocument:
      return documents_.Handle({.method = request.method,
                                .document = std::string(route->document),
                                .section = std::string(route->section),
                                .preconditions = std::move(request.preconditions),
                                .body = std::move(request.body)},
                               std::move(respond));
    case Route::Resource::kHealth:
      return Health(std::move(respond));
    case Route::Resource::kMetrics:
      return documents_.Collect([this, respond = std::move(respond)](auto shards) mutable {
        respond(http::MakePrometheus(ToPrometheus(shards, metrics_.Snapshot())));
      });
    case Route::Resource::kStats:
      return documents_.Collect([this, respond = std::move(respond)](auto shards) mutable {
        respond(http::MakeJson(200, ToJson(shards, metrics_.Snapshot())));
      });
    case Route::Resource::kPage:
      return respond(monitor::MakeLivePage());
    case Route::Resource::kHistory:
      return respond(http::MakeJson(200, history_.Answer(request.target)));
  }
}

void Service::Health(http::Respond respond) {
  if (draining_) return respond(http::MakeDraining());
  documents_.Health(std::move(respond));
}

}  // namespace stout::docstore
