#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stout/core/policy.h"

namespace stout::inline v1 {

/// Sends each change by itself, at once: what a server does that has no batching.
struct Unbatched {
  [[nodiscard]] Decision Start() const {
    return {.interval = {}, .window = Decision::kUnlimited, .max_items = 1};
  }
  Decision Observe(const BatchSample&) { return Start(); }
  [[nodiscard]] std::string Name() const { return "unbatched"; }

  bool operator==(const Unbatched&) const = default;
};

/// Spaces sends by a fixed interval, however long the store takes. A change after a longer pause
/// goes at once, so that of all policies with one fixed interval this one answers fastest.
struct Fixed {
  Duration interval = std::chrono::milliseconds(20);  ///< > 0

  [[nodiscard]] Decision Start() const {
    return {.interval = interval, .window = Decision::kUnlimited};
  }
  Decision Observe(const BatchSample&) { return Start(); }
  [[nodiscard]] std::string Name() const;

  bool operator==(const Fixed&) const = default;
};

/// Sends what has gathered whenever a timer ticks, however long the store takes: what most servers
/// do today. Ticks of different lanes are offset at random.
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

/// Natural batching: sends what has gathered as soon as one of `window` batches is done, and at
/// once when idle. It has no interval to tune; the store's own latency is the interval.
struct Natural {
  std::size_t window = 1;  ///< Batches in flight, >= 1.

  [[nodiscard]] Decision Start() const { return {.interval = {}, .window = window}; }
  Decision Observe(const BatchSample&) { return Start(); }
  [[nodiscard]] std::string Name() const;

  bool operator==(const Natural&) const = default;
};

/// One batch at a time, and a fixed pause after each answer: natural batching for a store that many
/// servers share, where sending at once keeps all of them in its queue.
struct Gap {
  Duration gap = std::chrono::milliseconds(20);  ///< > 0

  [[nodiscard]] Decision Start() const { return {.gap = gap}; }
  Decision Observe(const BatchSample&) { return Start(); }
  [[nodiscard]] std::string Name() const;

  bool operator==(const Gap&) const = default;
};

/// Reads a policy from text: `unbatched`, `fixed:20ms` (ns, us, ms or s), `tick:20ms`, `gap:20ms`,
/// `natural`, `natural:4`, `stout`, `stout:alpha=0.1,guards=off`, `adaptive`. What Policy::Name()
/// says makes a policy that equals the one that said so.
///
/// Nothing if the text is none of these or a number is out of range; then `error`, unless null, is
/// one line that says what is wrong and what to use.
[[nodiscard]] std::optional<Policy> MakePolicy(std::string_view text, std::string* error = nullptr);

/// What MakePolicy reads, for help texts: "unbatched | fixed:INTERVAL | ...".
[[nodiscard]] std::string_view PolicySyntax();

/// The options of the policies that have some, for help texts: a line each with name, default,
/// range and meaning.
[[nodiscard]] std::string PolicyOptions();

/// Reads "20ms", "1.5s", "250us", "10ns". Nothing if malformed, negative or beyond a century.
[[nodiscard]] std::optional<Duration> ParseDuration(std::string_view text);

/// The shortest text that ParseDuration reads back: "20ms", "1500us".
[[nodiscard]] std::string FormatDuration(Duration duration);

}  // namespace stout::inline v1
