#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

namespace stout {

/// Decides when to connect again to a server that cannot be reached. Logs an error that differs
/// from the last one, and the reconnection. The pause doubles from 50 ms up to the longest. The
/// lanes have pauses of their own; without this one, each of their calls would try to connect.
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
  std::size_t failures_ = 0;  // in a row
  TimePoint retry_at_{};
  std::string last_error_;  // the text that was logged last
};

}  // namespace stout
