#pragma once

#include <string_view>

namespace stout::inline v1 {

/// Everything that can go wrong, in the core, the shell and the stores: one vocabulary.
///
/// `stout/error.h` makes these Boost error codes; the core itself uses the bare values.
enum class Errc {
  kOk = 0,
  kPushedBack,     ///< A limit on dirty keys, bytes or replies is reached: answer "try later".
  kDraining,       ///< The interposer is draining: no new change is taken.
  kClosed,         ///< The interposer is closed, or was never opened.
  kFenced,         ///< Another server owns the keys (a newer epoch): drop the state held in memory.
  kRefused,        ///< The store will never take this state of this key.
  kTooLarge,       ///< As kRefused: the state is larger than a batch or the store can hold.
  kNotSerialized,  ///< As kRefused: the application could not serialise the state.
  kDeadline,       ///< The reply's deadline passed before its keys were durable.
  kTransient,      ///< The store could not do it now and did not do it.
  kUnknown,        ///< No answer: it may have happened, may not have, or may happen yet.
  kBadOptions,     ///< Options out of range.
  kBadUrl,         ///< A store URL that cannot be opened; the diagnostics say why.
  kCorrupt,        ///< The store holds bytes that the adapter did not write.
};

/// One line for people, without a full stop: "pushed back: too much is waiting for the store".
[[nodiscard]] std::string_view Describe(Errc errc);

}  // namespace stout::inline v1
