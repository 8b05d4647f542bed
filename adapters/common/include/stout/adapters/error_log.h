#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace stout {

/// Chooses which errors a store logs: the first of each kind, and then at most one a minute with
/// the number of those in between.
///
///     if (const auto line = errors.Line(sqlstate, text, now)) spdlog::warn("{}", *line);
///
/// Threads: none of its own; callers serialise.
class ErrorLog {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Returns the line to log, or nullopt if this error is only counted.
  [[nodiscard]] std::optional<std::string> Line(std::string_view kind, std::string line,
                                                TimePoint now);

 private:
  struct Kind {
    TimePoint logged;
    std::size_t left_out = 0;
  };
  // Servers may invent kinds, so all beyond the first kMaxKinds share one entry.
  static constexpr std::size_t kMaxKinds = 100;
  std::map<std::string, Kind, std::less<>> kinds_;
};

}  // namespace stout
