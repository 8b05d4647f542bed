#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "program/service_config.h"
#include "resp/server/service.h"
#include "stout/write_back_map.h"

namespace stout::node {

/// The options of `stout-node`.
struct Config : program::ServiceConfig {
  Config();

  std::string store;
  std::string scope = "stout-node";  ///< the name under which one node at a time owns the store
  std::string password;              ///< empty: clients need none
  WriteBackMapOptions map;
  resp::ConnectionLimits limits;
};

/// Reads the command line. Returns the exit code after --help or an error, which has been printed.
[[nodiscard]] std::optional<int> ParseCommandLine(int argc, const char* const* argv,
                                                  Config& config);

}  // namespace stout::node
