#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>

#include "stout/core/registry_table.h"
#include "stout/core/types.h"
#include "stout/error.h"
#include "stout/node_clock.h"
#include "stout/registry.h"

namespace stout {

/// Reserves the versions of a node in the registry, for the ranges that all nodes write to: a
/// number that no other node has, and some minutes of time ahead (HybridClock). Only the record of
/// the number decides who has it.
///
/// Owner: refers to the registry, which outlives it.   Threads: any.
/// Errors: retried with each Tick.
class Reservation : public std::enable_shared_from_this<Reservation> {
 public:
  /// `seed`: nodes with different ones choose different numbers and times.
  explicit Reservation(Registry& registry, std::uint32_t seed = std::random_device()())
      : registry_(registry), random_(seed) {}

  [[nodiscard]] const std::shared_ptr<NodeClock>& clock() const { return clock_; }
  /// Returns true if the node has versions now.
  [[nodiscard]] bool valid() const { return clock_->Next().has_value(); }
  /// Reserves versions if few are left, or for a short time only. Call it from time to time.
  void Tick(const RegistryTable& records);

 private:
  struct Number {
    std::uint32_t number = 0;
    Revision revision = 0;    // of its record
    std::uint64_t from = 0;   // microseconds
    std::uint64_t until = 0;  // likewise
    TimePoint end{};          // by the steady clock
  };

  [[nodiscard]] Number Choose(const RegistryTable& records, std::uint64_t now);
  void OnAnswer(Number asked, ErrorCode ec, const ChangeAnswer& answer);

  Registry& registry_;
  const std::shared_ptr<NodeClock> clock_ = std::make_shared<NodeClock>();
  std::mutex mutex_;  // guards what follows
  std::mt19937 random_;
  bool asks_ = false;
  std::optional<Number> own_;
};

}  // namespace stout
