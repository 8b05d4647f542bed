#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "load/schedule.h"
#include "load/workload.h"
#include "program/address.h"
#include "stout/core/types.h"

namespace stout::load {

/// The options of one run; ParseCommandLine checks them.
struct LoadOptions {
  program::Address target{.host = {}};
  std::string label;   ///< Names the run in reports.
  std::string tenant;  ///< That of all requests; empty: none.

  // The load.
  Corpus corpus;
  Distribution distribution;
  double read_fraction = 0.5;     ///< 0..1
  std::size_t value_bytes = 256;  ///< Bytes, >= kBodyHeaderBytes.
  bool preload = false;           ///< Write every section once before the run.

  // When.
  std::vector<Step> steps;
  Duration duration{};  ///< End of the last step.
  Duration warmup{};    ///< Before the first step, at its rate; not measured.
  Arrivals arrivals = Arrivals::kPoisson;
  std::uint64_t seed = 1;

  // How.
  std::size_t connections = 64;
  std::size_t pipeline = 16;  ///< Requests in flight per connection.
  Duration timeout = std::chrono::seconds(10);

  // Checks and reports.
  bool verify = false;
  bool verify_only = false;
  std::string verify_file;  ///< Empty: nothing kept.
  Duration verify_timeout = std::chrono::seconds(60);
  Duration max_p99{};  ///< The 99th percentile of reads and of writes may be this; 0: anything.
  bool server_stats = false;
  bool progress = false;  ///< A line per second on standard error.
  std::string json_file;  ///< Empty: none; "-": standard output.
};

}  // namespace stout::load
