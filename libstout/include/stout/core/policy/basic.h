#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stout/core/policy.h"

namespace stout::inline v1 {

/// Sends each change by itself and at once, like a server without batching.
struct Unbatched {
  [[nodiscard]] Decision Start() const {
    return {.interval = {}, .window = Decision::kUnlimited, .max_items = 1};
  }
  Decision Observe(const BatchSample&) { return Start(); }
  [[nodiscard]] std::string Name() const { return "unbatched"; }

  bool operator==(const Unbatched&) const = default;
};

/// Spaces sends by a fixed interval, independent of the store's latency. A change after a longer
/// pause is sent at once, so no policy with one fixed interval answers faster.
struct Fixed {
  Duration interval = std::chrono::milliseconds(20);  ///< > 0

  [[nodiscard]] Decision Start() const {
    return {.interval = interval, .window = Decision::kUnlimited};
  }
  Decision Observe(const BatchSample&) { return Start(); }
  [[nodiscard]] std::string Name() const;

  bool operator==(const Fixed&) const = default;
};

/// Sends all waiting changes at each tick of a timer, independent of the store's latency, as most
/// servers do today. Each lane's ticks have a random offset.
/// Paper: Stout (ATC'10), "Selecting a Batching Interval".
struct Tick {
  Duration interval = std::chrono::milliseconds(20);  ///< > 0

  [[nodiscard]] Decision Start() const {
    return {.tick = interval, .window = Decision::kUnlimited};
  }
  Decision Observe(const BatchSample&) { return Start(); }
  [[nodiscard]] std::string Name() const;

  bool operator==(const Tick&) const = default;
};

/// Natural batching: sends all waiting changes as soon as one of `window` batches is done, and at
/// once when idle. It has no interval to tune; the store's own latency is the interval.
struct Natural {
  std::size_t window = 1;  ///< batches in flight, >= 1

  [[nodiscard]] Decision Start() const { return {.interval = {}, .window = window}; }
  Decision Observe(const BatchSample&) { return Start(); }
  [[nodiscard]] std::string Name() const;

  bool operator==(const Natural&) const = default;
};

/// Keeps one batch in flight, and pauses for a fixed time after each answer: natural batching for a
/// store that many servers share. Without the pause, all of them stay in the store's queue.
struct Gap {
  Duration gap = std::chrono::milliseconds(20);  ///< > 0

  [[nodiscard]] Decision Start() const { return {.gap = gap}; }
  Decision Observe(const BatchSample&) { return Start(); }
  [[nodiscard]] std::string Name() const;

  bool operator==(const Gap&) const = default;
};

/// Reads a policy from text: `unbatched`, `fixed:20ms` (as ParseDuration), `tick:20ms`, `gap:20ms`,
/// `natural`, `natural:4`, `stout`, `stout:alpha=0.1,guards=off`, `adaptive`. The text that
/// Policy::Name() returns makes an equal policy.
///
/// Returns nullopt if the text is none of these, or if a number is out of range. Then `error`,
/// unless null, is one line with the problem and the remedy.
[[nodiscard]] std::optional<Policy> MakePolicy(std::string_view text, std::string* error = nullptr);

/// Returns the syntax that MakePolicy reads, for help texts: "unbatched | fixed:INTERVAL | ...".
[[nodiscard]] std::string_view PolicySyntax();

/// Returns the options of the policies, for help texts. Each line has name, default, range and
/// meaning.
[[nodiscard]] std::string PolicyOptions();

/// Reads a number with ns, us, ms, s, min or h: "20ms", "1.5h". Returns nullopt if malformed,
/// negative or beyond a century.
[[nodiscard]] std::optional<Duration> ParseDuration(std::string_view text);

/// Returns the shortest text with ns, us, ms or s that ParseDuration reads back: "20ms", "1500us".
[[nodiscard]] std::string FormatDuration(Duration duration);

}  // namespace stout::inline v1
