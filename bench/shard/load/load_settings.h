#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "load/command_line.h"
#include "program/address.h"
#include "shard/lineitem.h"
#include "shard/load/requests.h"
#include "shard/load/schedule.h"
#include "shard/placed_records.h"
#include "stout/core/types.h"

namespace stout::bench::shard {

/// The options of shard-load.
struct LoadSettings {
  program::Address to{.port = 6480};
  LineitemOptions data;
  std::optional<Placement> placement;  ///< of the data
  RequestOptions requests;

  std::vector<Phase> phases;  ///< The open loop; empty: a closed one.
  Duration closed{};          ///< For how long that is run.
  std::size_t depth = 64;     ///< Requests that it has under way on each connection.

  std::size_t connections = 8;
  std::size_t most_under_way = 100'000;  ///< On all connections; what is due beyond is not sent.
  Duration slice = std::chrono::milliseconds(250);
  Duration patience = std::chrono::seconds(10);  ///< At the end, for what has no answer.

  std::string csv = "-";
  std::string json;  ///< Empty: none.
};

/// Reads the command line. Returns the exit code after --help or an error, which has been printed.
[[nodiscard]] std::variant<LoadSettings, ExitCode> ParseLoadSettings(int argc,
                                                                     const char* const* argv);

}  // namespace stout::bench::shard
