#pragma once

#include <optional>

namespace stout::bench {

/// Searches for the highest rate that is sustained. It takes coarse steps until a rate is too much,
/// then bisects on a logarithmic scale. A rate is too much if it failed twice, because the machine
/// may have been busy with other work once.
///
///     while (auto rate = search.Next()) search.Learn(Try(*rate, search.coarse()));
///     search.found();
///
/// Units: changes per second.
/// Owner: value type.   Threads: none of its own.
class RateSearch {
 public:
  struct Options {
    double first = 500;  ///< Within lowest..highest.
    double lowest = 1, highest = 1e6;
    double step = 3;           ///< factor of the coarse search; > 1
    double resolution = 0.05;  ///< share between the found rate and one that is too much; > 0
  };

  explicit RateSearch(const Options& options) : options_(options), next_(options.first) {}

  /// The rate to try next; nothing once the search is over.
  [[nodiscard]] std::optional<double> Next() const;
  /// Returns true if the next trial only brackets the answer: a short trial is enough.
  [[nodiscard]] bool coarse() const { return low_ == 0 || high_ == 0; }
  /// Reports whether the rate of Next() was sustained. Requires that Next() returned a rate.
  void Learn(bool sustained);

  /// 0: none was.
  [[nodiscard]] double found() const { return low_; }
  /// Returns true if no rate that was tried was too much.
  [[nodiscard]] bool at_least() const { return high_ == 0; }

 private:
  const Options options_;
  double low_ = 0, high_ = 0;  // 0: not known
  double next_;
  bool failed_once_ = false;  // at next_
};

}  // namespace stout::bench
