#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "load/rate_step.h"
#include "load/server_record.h"
#include "stout/core/random.h"
#include "stout/error.h"
#include "stout/unique_function.h"

namespace stout::bench {

/// The target of a load: documents that are made durable in any way.
///
/// Threads: all on the executor of the load.
class Target {
 public:
  using Answer = UniqueFunction<void(ErrorCode)>;

  virtual ~Target() = default;
  /// Changes a document; `answer` runs once that is durable, or cannot be.
  virtual void Change(std::size_t document, Answer answer) = 0;
  /// Returns the totals so far.
  [[nodiscard]] virtual Totals Count() const = 0;
  /// Sends nothing more. Changes without an answer soon fail with kClosed.
  virtual void Close() = 0;
};

/// The users of one target.
struct LoadSpec {
  std::size_t documents = 10000;  ///< all equally likely; >= 1
  double rate = 100;              ///< changes per second; > 0
  std::uint64_t seed = 1;
  std::optional<RateStep> step;
  Duration slice{};  ///< length of the record's slices; zero: no slices
  /// If more changes than this are unanswered, the load is overloaded and ends at once. 0: no
  /// limit.
  std::size_t most_waiting = 0;
};

using SteadyTime = std::chrono::steady_clock::time_point;

/// The times of a load. Changes are offered from `start` until all that count are answered, or
/// until `give_up`.
struct Schedule {
  SteadyTime start;     ///< start of the load
  SteadyTime from, to;  ///< changes due within [from, to) count
  SteadyTime give_up;   ///< counted changes without an answer by then stay without one
};

/// Users as an open loop: each change is due at its own time (a Poisson process), whatever became
/// of earlier ones, and its latency counts from then.
///
/// Owner: `target` and `interrupted` outlive it.
/// Threads: its coroutine runs on the executor given.
class OpenLoop {
 public:
  OpenLoop(Target& target, boost::asio::any_io_executor executor, const LoadSpec& spec,
           const std::atomic<bool>& interrupted);

  /// Offers the load and closes the target; ends early when interrupted.
  [[nodiscard]] boost::asio::awaitable<void> Run(Schedule schedule);

  /// The record of the load; complete when Run has ended.
  [[nodiscard]] const ServerRecord& record() const { return record_; }

 private:
  template <typename Condition>
  boost::asio::awaitable<void> OfferWhile(Condition condition, SteadyTime end);
  void Change(SteadyTime due);
  void OnAnswer(SteadyTime due, ErrorCode ec);
  [[nodiscard]] bool Counts(SteadyTime due) const {
    return due >= schedule_.from && due < schedule_.to;
  }
  [[nodiscard]] double RateAt(SteadyTime due) const;
  [[nodiscard]] Slice& SliceAt(SteadyTime time);
  void CountBatches(SteadyTime now);

  Target& target_;
  const boost::asio::any_io_executor executor_;
  const LoadSpec spec_;
  const std::atomic<bool>& interrupted_;
  SplitMix64 random_;
  Schedule schedule_;
  SteadyTime next_due_;
  std::size_t waiting_ = 0;     // changes that are not answered
  std::uint64_t counting_ = 0;  // those of them that count
  std::uint64_t batches_ = 0;   // that some slice has counted
  ServerRecord record_;
};

}  // namespace stout::bench
