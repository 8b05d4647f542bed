#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

namespace stout {

/// When connecting to a server that is away may be tried again, and what the log is told: a trouble
/// once, and its end. The pause doubles from 50 ms up to the longest. (The lanes back off by
/// themselves; this keeps their calls from connecting in turns.)
///
/// Threads: none of its own; callers serialise.
class Reconnection {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// `name` begins each line of the log: "redis 10.0.0.7:6379".
  explicit Reconnection(std::string name,
                        std::chrono::milliseconds longest_pause = std::chrono::seconds(2))
      : name_(std::move(name)), longest_pause_(longest_pause) {}

  [[nodiscard]] bool MayTry(TimePoint now) const { return now >= retry_at_; }
  void Failed(TimePoint now, std::string error);
  void Succeeded();

  /// Writes a line to the log for another error of that server.
  void Log(const std::string& error) const;

 private:
  const std::string name_;
  const std::chrono::milliseconds longest_pause_;
  std::size_t failures_ = 0;  // In a row.
  TimePoint retry_at_{};
  std::string last_error_;  // the text that was logged last
};

}  // namespace stout
