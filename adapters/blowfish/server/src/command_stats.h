#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "command_table.h"
#include "stout/core/histogram.h"
#include "stout/core/types.h"

namespace stout::blowfish {

/// Counts commands and errors for INFO commandstats, latencystats and errorstats.
///
/// Space: 15 KiB for each command that was called.   Cost: some nanoseconds for each call.
/// Threads: one.
class CommandStats {
 public:
  struct Counts {
    std::unique_ptr<Histogram> latency;  ///< latency of the calls; null if there was none
    std::uint64_t rejected = 0;          ///< Not carried out: wrong arity, or without AUTH.
    std::uint64_t failed = 0;            ///< Calls whose reply was an error.

    [[nodiscard]] std::uint64_t calls() const { return latency ? latency->count() : 0; }
  };

  CommandStats() : counts_(CommandList().size()) {}

  /// Counts a call. `latency`: from when the command was taken up until its reply was there.
  void Done(const CommandSpec& command, Duration latency, bool failed);
  void Rejected(const CommandSpec& command) { ++CountsOf(command).rejected; }
  /// Counts an error by the first word of its reply: "-ERR ..." as ERR.
  void Error(std::string_view reply);
  /// Sets all counts to 0.
  void Reset() { *this = CommandStats(); }

  [[nodiscard]] const Counts& of(const CommandSpec& command) const {
    return counts_[static_cast<std::size_t>(command.id)];
  }
  [[nodiscard]] const std::map<std::string, std::uint64_t, std::less<>>& errors() const {
    return errors_;
  }
  [[nodiscard]] std::uint64_t total_errors() const { return total_errors_; }

 private:
  [[nodiscard]] Counts& CountsOf(const CommandSpec& command) {
    return counts_[static_cast<std::size_t>(command.id)];
  }

  std::vector<Counts> counts_;  // By CommandId.
  std::map<std::string, std::uint64_t, std::less<>> errors_;
  std::uint64_t total_errors_ = 0;
};

}  // namespace stout::blowfish
