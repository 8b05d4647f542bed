#include "protocol/route.h"

#include <fmt/format.h>

#include <vector>

#include "protocol/id.h"

namespace stout::docstore {
namespace {

// "/docs/a/sections/b" -> docs, a, sections, b. Empty segments are kept: they are bad ids.
std::vector<std::string_view> Segments(std::string_view path) {
  std::vector<std::string_view> segments;
  while (path.starts_with('/')) {
    path.remove_prefix(1);
    const auto end = path.find('/');
    segments.push_back(path.substr(0, end));
    path = end == std::string_view::npos ? std::string_view() : path.substr(end);
  }
  return segments;
}

std::optional<Route> Match(const std::vector<std::string_view>& path) {
  using enum Route::Resource;
  if (path.size() == 1) {
    if (path[0] == "healthz") return Route{kHealth, {}, {}};
    if (path[0] == "metrics") return Route{kMetrics, {}, {}};
    if (path[0] == "stats") return Route{kStats, {}, {}};
    if (path[0].empty()) return Route{kPage, {}, {}};
    if (path[0] == "history") return Route{kHistory, {}, {}};
  }
  if (path.size() == 2 && path[0] == "docs") return Route{kDocument, path[1], {}};
  if (path.size() == 4 && path[0] == "docs" && path[2] == "sections") {
    return Route{kSection, path[1], path[3]};
  }
  return std::nullopt;
}

std::string_view AllowedMethods(Route::Resource resource) {
  switch (resource) {
    case Route::Resource::kSection:
      return "GET, HEAD, PUT, DELETE";
    case Route::Resource::kDocument:
      return "GET, HEAD, DELETE";
    default:
      return "GET, HEAD";
  }
}

bool IsAllowed(http::Method method, Route::Resource resource) {
  switch (method) {
    case http::Method::kGet:
    case http::Method::kHead:
      return true;
    case http::Method::kPut:
      return resource == Route::Resource::kSection;
    case http::Method::kDelete:
      return resource == Route::Resource::kSection || resource == Route::Resource::kDocument;
    case http::Method::kOther:
      break;
  }
  return false;
}

}  // namespace

std::optional<Route> FindRoute(http::Method method, std::string_view target,
                               http::Response& error) {
  const std::optional<Route> route = Match(Segments(http::PathOf(target)));
  if (!route) {
    error = http::MakeError(404, "there is no such path",
                            "use /docs/{document}, /docs/{document}/sections/{section}, /healthz, "
                            "/metrics, /stats, / or /history");
    return std::nullopt;
  }
  if (!IsAllowed(method, route->resource)) {
    error = http::MakeMethodError(AllowedMethods(route->resource));
    return std::nullopt;
  }
  const bool has_document =
      route->resource == Route::Resource::kSection || route->resource == Route::Resource::kDocument;
  if (has_document && !IsId(route->document)) {
    error = http::MakeError(400, "the document id is malformed", fmt::format("use {}", kIdRule));
    return std::nullopt;
  }
  if (route->resource == Route::Resource::kSection && !IsId(route->section)) {
    error = http::MakeError(400, "the section id is malformed", fmt::format("use {}", kIdRule));
    return std::nullopt;
  }
  return route;
}

}  // namespace stout::docstore
