#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace stout::inline v1 {

/// The clock of the core. It has no now(): callers pass the time, so the core cannot read a clock.
/// A server, a simulation and a test can therefore drive the same object.
struct Clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;
};

using Duration = Clock::duration;

/// Time since an origin that the driver chooses. An engine uses differences only. An Interposer's
/// origin is that of Unix time: it reads Unix time once at start, then follows the steady clock,
/// and never steps. If the servers' clocks agree to milliseconds, their policies can therefore keep
/// common epochs without messages.
using TimePoint = Clock::time_point;

/// Never: later than every event.
inline constexpr TimePoint kNever = TimePoint::max();

/// Returns `t + d`, or kNever if the sum exceeds it. kNever plus `d` is kNever. Requires d >= 0.
constexpr TimePoint SaturatingAdd(TimePoint t, Duration d) {
  return t > kNever - d ? kNever : t + d;
}

/// An opaque string of bytes that names one piece of the application's state.
using KeyView = std::string_view;

/// Orders the changes of a lane. Zero means "none"; the first change gets 1.
using Version = std::uint64_t;

/// Orders the owners of a key: the fencing token. A pair (epoch, version) is newer than every pair
/// with a smaller epoch, whatever its version.
using Epoch = std::uint64_t;

/// Names a set of keys with one owner, so that a store can fence them: for example a lease's range
/// of keys. The empty scope has no keys. See `Store::Fence`.
using Scope = std::string;

/// Hash slots of Redis Cluster, from `first` to `last`, both included; `last` is at most 16383.
struct HashSlots {
  std::uint16_t first = 0;
  std::uint16_t last = 16383;
};

/// Index of a lane: a set of keys that share a bottleneck in the store.
using LaneId = std::uint32_t;

/// Names one attempt to write or read a batch. It is unique within an engine. Zero means "none".
using BatchId = std::uint64_t;

/// Index of a tenant: a group of requests whose use of a cache is counted together. 0: requests
/// without a tenant.
using TenantId = std::uint32_t;

/// The owner that wrote a state, and the change that made it.
struct Stamp {
  Epoch epoch = 0;
  Version version = 0;

  friend constexpr auto operator<=>(const Stamp&, const Stamp&) = default;
};

}  // namespace stout::inline v1

namespace stout::internal {

/// Names a reply or a fetch. The driver chooses it, and stores the handler under this name.
using ReplyId = std::uint64_t;
using FetchId = std::uint64_t;

}  // namespace stout::internal
