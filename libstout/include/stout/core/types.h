#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace stout::inline v1 {

/// The clock of the core. It has no now(): callers pass the time, and the core cannot read a clock.
/// Therefore a server, a simulation and a test drive the same object.
struct Clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;
};

using Duration = Clock::duration;

/// Time since an origin that the driver chooses. Within one engine, only differences have a
/// meaning. An Interposer uses the origin of Unix time. It reads Unix time once at start, then
/// follows the steady clock, and never steps. Policies on servers whose clocks agree to
/// milliseconds can therefore keep common epochs without messages.
using TimePoint = Clock::time_point;

/// Means "never". It is later than every event.
inline constexpr TimePoint kNever = TimePoint::max();

/// Returns `t + d`, or kNever if the sum exceeds it. kNever plus `d` is kNever. Requires d >= 0.
constexpr TimePoint SaturatingAdd(TimePoint t, Duration d) {
  return t > kNever - d ? kNever : t + d;
}

/// An opaque string of bytes that names one piece of the application's state.
using KeyView = std::string_view;

/// Orders the changes of a lane. Zero means "none"; the first change gets 1.
using Version = std::uint64_t;

/// Orders the owners of a key: the fencing token. A pair (epoch, version) is newer than all pairs
/// of a smaller epoch, for any versions.
using Epoch = std::uint64_t;

/// Names the keys that a writer owns as a whole, so that a store can fence them. An example is a
/// lease's range of keys. The empty scope owns nothing. See `Store::Fence`.
using Scope = std::string;

/// Index of a lane: a set of keys that share a bottleneck in the store.
using LaneId = std::uint32_t;

/// Names one attempt to write or read a batch. It is unique within an engine. Zero means "none".
using BatchId = std::uint64_t;

/// Index of a tenant: requests that share one account of a cache. 0: requests without a tenant.
using TenantId = std::uint32_t;

/// The owner that wrote a state, and its change that made the state.
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
