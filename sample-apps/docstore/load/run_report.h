#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "load/load_options.h"
#include "load/recorder.h"
#include "load/server_counters.h"
#include "load/verifier.h"

namespace stout::load {

struct CounterSample {
  TimePoint at;
  ServerCounters counters;
};

/// Returns the server's work between two times: the difference of the first samples after them.
/// Returns nullopt if a sample is missing.
[[nodiscard]] std::optional<ServerCounters> CountersBetween(
    const std::vector<CounterSample>& samples, TimePoint from, TimePoint to);

/// How the read-back ended.
struct VerifyResult {
  std::uint64_t acknowledged = 0;  ///< Writes that the server promised to keep.
  std::uint64_t open = 0;          ///< Writes sent that it never answered: either end is right.
  std::uint64_t read_back = 0;     ///< Sections compared.
  std::uint64_t unread = 0;        ///< Sections that could not be read in time.
  Findings findings;

  [[nodiscard]] bool clean() const { return findings.clean() && unread == 0; }
};

/// All results of one run.
struct RunReport {
  LoadOptions options;
  TimePoint end{};  ///< When the last request was due; earlier than asked if interrupted.
  bool interrupted = false;
  std::vector<Window> steps;
  Window total;
  std::vector<SecondSummary> seconds;
  std::vector<CounterSample> samples;  ///< By time; empty without --stats.
  std::string first_refusal;  ///< The first answer with an unexpected status; empty if none.
  std::optional<VerifyResult> verify;

  /// Returns the end of a step: the start of the next step, or the end of the run.
  [[nodiscard]] TimePoint StepEnd(std::size_t step) const;

  /// Returns the server's work in a step. If another step went before, the first second is left
  /// out: the server still writes the previous step's changes, so changes and writes of one window
  /// do not match.
  [[nodiscard]] std::optional<ServerCounters> ServerDuring(TimePoint from, TimePoint to) const;
};

/// Returns the report as JSON. README.md explains the members.
[[nodiscard]] boost::json::object ToJson(const RunReport& report);

/// The report as a table of a line per step and kind of request, with what went wrong below.
[[nodiscard]] std::string ToTable(const RunReport& report);

/// The verdict of the verification, in words; ends with a line break.
[[nodiscard]] std::string ToText(const VerifyResult& verify);

/// Milliseconds with three digits that mean something: "0.42", "3.14", "27.1", "1250".
[[nodiscard]] std::string Milliseconds(double ms);

/// One second of a run, which ended `second` seconds after the start, as `--progress` prints it.
/// `writes` has the latencies of the writes that were answered in it, from due to answered. Figures
/// that do not exist are shown as "-".
[[nodiscard]] std::string ProgressText(std::int64_t second, const Window& counts,
                                       const Histogram& writes,
                                       const std::optional<ServerCounters>& server);

}  // namespace stout::load
