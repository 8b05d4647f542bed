#pragma once

#include <optional>
#include <string>

#include "blowfish/server/copy_from.h"
#include "blowfish/server/server.h"
#include "blowfish/store/shard.h"
#include "program/address.h"

namespace stout::blowfish {

/// The options of blowfish-server.
struct ProgramOptions {
  ServerOptions server;
  std::string directory;
  std::optional<CopyOrder> copy;   ///< the directory is filled with this copy first
  std::size_t shards = 0;          ///< 0: the number in the directory, or the number of processors
  ShardOptions shard;              ///< per shard: schema and text index
  bool has_schema = false;         ///< the command line has --attributes
  std::uint64_t freeze_bytes = 0;  ///< see ShardMemory
  std::uint64_t merge_bytes = 0;   ///< likewise
  std::size_t merges = 0;  ///< maximum shards that merge at once; 0: a quarter of the processors
  std::optional<program::Address> metrics;  ///< address of /metrics, if it is served
  std::string log_level = "info";
};

/// Returns "" if --dir can have this value, otherwise the problem.
[[nodiscard]] std::string CheckDirectory(const std::string& directory);

/// Reads the command line. Returns the exit code after --help or an error, which has been printed.
[[nodiscard]] std::optional<int> ParseCommandLine(int argc, const char* const* argv,
                                                  ProgramOptions& options);

}  // namespace stout::blowfish
