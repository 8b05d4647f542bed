#pragma once

#include <string_view>

namespace stout::inline v1 {

/// All errors of the core, the shell and the stores.
///
/// `stout/error.h` makes them Boost error codes; the core itself uses the bare values.
enum class Errc {
  kOk = 0,
  kPushedBack,     ///< a limit on dirty keys, bytes or replies is reached: try later
  kDraining,       ///< the interposer is draining: no new change is taken
  kClosed,         ///< the interposer is closed, or was never opened
  kFenced,         ///< another server owns the keys (a newer epoch): drop the state in memory
  kRefused,        ///< the store will never take this state of this key
  kTooLarge,       ///< as kRefused: the state is larger than a batch or the store can hold
  kNotSerialized,  ///< as kRefused: the application could not serialise the state
  kDeadline,       ///< the reply's deadline passed before its keys were durable
  kTransient,      ///< the store could not do it now, and did nothing
  kUnknown,        ///< no answer: the write may or may not have happened, or may happen later
  kBadOptions,     ///< options out of range
  kBadUrl,         ///< a store URL that cannot be opened; the diagnostics give the cause
  kCorrupt,        ///< the store is damaged, or holds bytes that the adapter did not write
  kLost,           ///< the store came back, and may lack acknowledged writes: open it anew
  kTooFewMembers,  ///< a write needs more members `in` than the range has: nothing was done
};

/// Returns one line for people, without a full stop: "draining: no new change is taken".
[[nodiscard]] std::string_view Describe(Errc errc);

/// Returns true if the state will never be written, at least by the store that answered so.
[[nodiscard]] constexpr bool IsRefusal(Errc errc) {
  return errc == Errc::kRefused || errc == Errc::kTooLarge || errc == Errc::kNotSerialized;
}

/// Returns true if this error of a flush means only that a store has refused some states: all
/// others are durable. It is kUnknown if such a state may be durable at another member, or from an
/// attempt that got no answer.
[[nodiscard]] constexpr bool IsOnlyRefused(Errc errc) {
  return IsRefusal(errc) || errc == Errc::kUnknown;
}

}  // namespace stout::inline v1
