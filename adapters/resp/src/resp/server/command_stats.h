#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "resp/server/command_table.h"
#include "stout/core/histogram.h"
#include "stout/core/types.h"

namespace stout::resp {

/// Counts commands and errors for INFO commandstats, latencystats and errorstats.
///
/// Owner: `table` outlives it.   Threads: one.
/// Space: 15 KiB for each command that was called.   Cost: some nanoseconds for each call.
class CommandStats {
 public:
  struct Counts {
    std::unique_ptr<Histogram> latency;  ///< latency of the calls; null if there was none
    std::uint64_t rejected = 0;          ///< Not carried out: wrong arity, or without AUTH.
    std::uint64_t failed = 0;            ///< Calls whose reply was an error.

    [[nodiscard]] std::uint64_t calls() const { return latency ? latency->count() : 0; }
  };

  explicit CommandStats(const CommandTable& table) : table_(&table), counts_(table.rows().size()) {}

  /// Counts a call. `latency`: from when the command was taken up until its reply was there.
  void Done(const Command& command, Duration latency, bool failed);
  void Rejected(const Command& command) { ++CountsOf(command).rejected; }
  /// Counts an error by the first word of its reply: "-ERR ..." as ERR.
  void Error(std::string_view reply);
  /// Sets all counts to 0.
  void Reset() { *this = CommandStats(*table_); }

  [[nodiscard]] const Counts& of(const Command& command) const {
    return counts_[table_->IndexOf(command)];
  }
  [[nodiscard]] const std::map<std::string, std::uint64_t, std::less<>>& errors() const {
    return errors_;
  }
  [[nodiscard]] const CommandTable& table() const { return *table_; }
  [[nodiscard]] std::uint64_t total_errors() const { return total_errors_; }

 private:
  [[nodiscard]] Counts& CountsOf(const Command& command) {
    return counts_[table_->IndexOf(command)];
  }

  const CommandTable* table_;
  std::vector<Counts> counts_;  // by row
  std::map<std::string, std::uint64_t, std::less<>> errors_;
  std::uint64_t total_errors_ = 0;
};

}  // namespace stout::resp
