#pragma once

#include <optional>
#include <string>

#include "program/service_config.h"
#include "router/router_options.h"

namespace stout::docstore {

/// The options of `docstore-router`, from its command line and its configuration file.
struct RouterConfig : program::ServiceConfig {
  std::string leases;
  RouterOptions router;
};

/// As ParseCommandLine of docstore-server.
[[nodiscard]] std::optional<int> ParseCommandLine(int argc, const char* const* argv,
                                                  RouterConfig& config);

}  // namespace stout::docstore
