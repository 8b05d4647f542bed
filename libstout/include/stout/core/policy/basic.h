#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stout/core/policy.h"

namespace stout {

/// Sends each change by itself, at once: what a server does that has no batching.
struct Unbatched {
  [[nodiscard]] Decision Start() const {
    return {.interval = {}, .window = Decision::kUnlimited, .max_items = 1};
  }
  Decision Observe(const BatchSample&) { return Start(); }
  [[nodiscard]] std::string Name() const { return "unbatched"; }

  bool operator==(const Unbatched&) const = default;
};

/// Spaces sends by a fixed interval, however long the store takes: what most servers do today.
struct Fixed {
  Duration interval = std::chrono::milliseconds(20);  ///< > 0

  [[nodiscard]] Decision Start() const {
    return {.interval = interval, .window = Decision::kUnlimited};
  }
  Decision Observe(const BatchSample&) { return Start(); }
  [[nodiscard]] std::string Name() const;

  bool operator==(const Fixed&) const = default;
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

/// Reads a policy from text: `unbatched`, `fixed:20ms` (ns, us, ms or s), `natural`, `natural:4`.
/// Nothing if the text is none of these or a number is out of range.
[[nodiscard]] std::optional<Policy> MakePolicy(std::string_view text);

/// What MakePolicy reads, for help texts: "unbatched | fixed:INTERVAL | natural[:WINDOW]".
[[nodiscard]] std::string_view PolicySyntax();

/// Reads "20ms", "1.5s", "250us", "10ns". Nothing if malformed, negative or beyond a century.
[[nodiscard]] std::optional<Duration> ParseDuration(std::string_view text);

/// The shortest text that ParseDuration reads back: "20ms", "1500us".
[[nodiscard]] std::string FormatDuration(Duration duration);

}  // namespace stout
