#pragma once

#include <optional>
#include <string_view>

#include "http/message.h"

namespace stout::docstore {

/// The resource that a request names. Views point into the request's target.
struct Route {
  enum class Resource { kSection, kDocument, kHealth, kMetrics, kStats, kPage, kHistory };
  Resource resource;
  std::string_view document;
  std::string_view section;

  bool operator==(const Route&) const = default;
};

/// Finds the resource. If there is none, returns nullopt and fills `error` with the answer: 404 for
/// an unknown path, 400 for a bad id, otherwise 405 for a wrong method.
[[nodiscard]] std::optional<Route> FindRoute(http::Method method, std::string_view target,
                                             http::Response& error);

}  // namespace stout::docstore
