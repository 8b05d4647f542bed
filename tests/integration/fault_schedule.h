#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stout/core/random.h"

namespace stout::test {

/// Strikes processes by a seeded schedule. A fault consists of steps; those to come are in a queue.
/// Faults of different targets overlap.
class FaultSchedule {
 public:
  using Step = std::function<void()>;
  /// Begins a fault of a target. It calls the step once the fault has ended, or makes a later step
  /// do so.
  using Strike = std::function<void(std::size_t target, Step done)>;

  /// `keep_up`: called all the time.
  FaultSchedule(std::uint64_t seed, std::ostream& log, Step keep_up)
      : random_(seed), log_(log), keep_up_(std::move(keep_up)) {}
  FaultSchedule(const FaultSchedule&) = delete;
  FaultSchedule& operator=(const FaultSchedule&) = delete;

  /// A kind of faults, which strikes one of `targets`: numbers. A target has one fault at a time.
  /// The kind waits while `possible` returns false.
  void Add(
      std::string kind, std::vector<std::size_t> targets, Strike strike,
      std::function<bool()> possible = [] { return true; });

  /// Strikes for this time, and then carries out the steps that are left.
  void RunFor(std::chrono::milliseconds time);
  /// Every kind came at least once.
  [[nodiscard]] bool complete() const { return struck_.size() == kinds_.size(); }

  // For strikes:
  [[nodiscard]] std::chrono::milliseconds Random(std::chrono::milliseconds low,
                                                 std::chrono::milliseconds high);
  [[nodiscard]] std::uint64_t Below(std::uint64_t bound) { return random_.Below(bound); }
  /// Returns true if no fault is under way.
  [[nodiscard]] bool quiet() const { return busy_.empty(); }
  /// `step` comes `after` from now.
  void Later(std::chrono::milliseconds after, Step step);

 private:
  using Clock = std::chrono::steady_clock;
  struct Kind {
    std::string name;
    std::vector<std::size_t> targets;
    Strike strike;
    std::function<bool()> possible;
  };

  void Shuffle();
  void StrikeOne();
  void Say(const std::string& what);
  // Carries out the steps that are due meanwhile.
  void Pass(std::chrono::milliseconds time);

  SplitMix64 random_;
  std::ostream& log_;
  const Step keep_up_;
  std::vector<Kind> kinds_;      // the one that has waited longest comes first
  std::size_t passed_over_ = 0;  // times that this one could not strike, and another did
  std::set<std::string> struck_;
  std::set<std::size_t> busy_;  // targets
  std::multimap<Clock::time_point, Step> steps_;
};

}  // namespace stout::test
