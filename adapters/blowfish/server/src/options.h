#pragma once

#include <optional>
#include <string>

#include "server.h"
#include "shard.h"

namespace stout::blowfish {

/// What the command line of blowfish-server says.
struct ProgramOptions {
  ServerOptions server;
  std::string directory;
  std::size_t shards = 0;   ///< 0: as many as the directory has, or as there are processors.
  ShardOptions shard;       ///< Of each: schema, and when it compacts.
  bool has_schema = false;  ///< The command line has one.
  std::size_t merges = 0;   ///< Shards that merge at a time; 0: a quarter of the processors.
  std::string metrics;      ///< Where Prometheus asks; empty: nowhere.
  std::string log_level = "info";
};

/// Reads the command line. Answers the exit code if the program is to end now: after --help, or
/// after an error, which has then been explained on stderr.
[[nodiscard]] std::optional<int> ParseCommandLine(int argc, const char* const* argv,
                                                  ProgramOptions& options);

}  // namespace stout::blowfish
