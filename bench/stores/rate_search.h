#pragma once

#include <optional>

namespace stout::bench {

/// Looks for the highest rate that is sustained: by coarse steps until one is too much, then by
/// bisection on a logarithmic scale. A rate is too much if it failed twice, for the machine may
/// have been busy with something else once.
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
    double step = 3;           ///< Of the coarse search. > 1
    double resolution = 0.05;  ///< What is found is within that of what is too much. > 0
  };

  explicit RateSearch(const Options& options) : options_(options), next_(options.first) {}

  /// The rate to try next; nothing once the search is over.
  [[nodiscard]] std::optional<double> Next() const;
  /// Whether that only serves to bracket the answer: a short trial will do.
  [[nodiscard]] bool coarse() const { return low_ == 0 || high_ == 0; }
  /// Whether what Next() said was sustained. Requires that it said something.
  void Learn(bool sustained);

  /// 0: none was.
  [[nodiscard]] double found() const { return low_; }
  /// Whether no rate that was tried was too much.
  [[nodiscard]] bool at_least() const { return high_ == 0; }

 private:
  const Options options_;
  double low_ = 0, high_ = 0;  // 0: not known
  double next_;
  bool failed_once_ = false;  // at next_
};

}  // namespace stout::bench
