#pragma once

#include <optional>
#include <string_view>

#include "http/message.h"

namespace stout::docstore {

/// The resource that a request is about. Views point into the request's target.
struct Route {
  enum class Resource { kSection, kDocument, kHealth, kMetrics, kStats, kPage, kHistory };
  Resource resource;
  std::string_view document;
  std::string_view section;

  bool operator==(const Route&) const = default;
};

/// Finds the resource, or fills `error` with what the client is told: 404 unknown path, 400 bad id,
/// 405 wrong method. `method` counts after the path is known.
[[nodiscard]] std::optional<Route> FindRoute(http::Method method, std::string_view target,
                                             http::Response& error);

}  // namespace stout::docstore
