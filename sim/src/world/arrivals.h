#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "stout/core/types.h"
#include "stout/sim/random.h"
#include "stout/sim/recording.h"

namespace stout::sim::internal {

/// When a client's next request arrives, as far as one can tell now.
class Arrivals {
 public:
  virtual ~Arrivals() = default;

  /// kNever: not before something happens.
  [[nodiscard]] TimePoint next() const { return next_; }
  /// The key that the request at next() changes. nullopt: the client draws one.
  [[nodiscard]] std::optional<std::uint64_t> next_key() const { return next_key_; }
  /// Moves on to the arrival after next().
  virtual void Advance() = 0;

  /// Changes the rate from now on. Requires next() >= now. Arrivals without a rate ignore it.
  virtual void SetRate(double per_s, TimePoint now);
  /// A caller has its reply.
  virtual void Replied(TimePoint now);

 protected:
  TimePoint next_ = kNever;
  std::optional<std::uint64_t> next_key_;
};

/// Open loop, exponential times between arrivals. A rate that changes with the state of a common
/// process makes it an MMPP.
class PoissonArrivals final : public Arrivals {
 public:
  PoissonArrivals(double per_s, TimePoint now, Random random);

  void Advance() override;
  void SetRate(double per_s, TimePoint now) override;

 private:
  void Plan(TimePoint from);

  Random random_;
  double per_s_;
  double due_;  // how many arrivals must be expected until the next one happens
};

/// Closed loop: each caller thinks, sends a request, and thinks again once it has its reply.
class ClosedArrivals final : public Arrivals {
 public:
  ClosedArrivals(std::size_t callers, Duration mean_think, TimePoint now, Random random);

  void Advance() override;
  void Replied(TimePoint now) override;

 private:
  Random random_;
  Duration mean_think_;
  std::vector<TimePoint> thinking_;  // until then; a heap, earliest first
};

/// A client's part of a recording, over and over.
class RecordedArrivals final : public Arrivals {
 public:
  /// `mine`: positions of its changes, ascending. If there are none, nothing arrives.
  RecordedArrivals(std::shared_ptr<const Recording> recording, std::vector<std::uint32_t> mine,
                   TimePoint now);

  void Advance() override;

 private:
  void Plan();

  const std::shared_ptr<const Recording> recording_;
  const std::vector<std::uint32_t> mine_;
  Duration period_{};
  TimePoint round_{};      // begin of the current repetition
  std::size_t taken_ = 0;  // of `mine_` in it
};

}  // namespace stout::sim::internal
