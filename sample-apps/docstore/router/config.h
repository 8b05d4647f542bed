#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "program/address.h"
#include "router/router_options.h"

namespace stout::docstore {

/// What `docstore-router` is told on its command line and in its configuration file.
struct RouterConfig {
  std::string leases;
  Address listen = {.port = 8080};
  std::size_t threads = 1;
  RouterOptions router;
  std::chrono::nanoseconds drain_timeout = std::chrono::seconds(30);
  std::string log_level = "info";
};

/// As ParseCommandLine of docstore-server.
[[nodiscard]] std::optional<int> ParseCommandLine(int argc, const char* const* argv,
                                                  RouterConfig& config);

}  // namespace stout::docstore
