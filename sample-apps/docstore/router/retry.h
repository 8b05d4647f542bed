#pragma once

#include "http/message.h"

namespace stout::docstore {

/// The outcome of one attempt to have a request served.
enum class Fate {
  kNotSent,   ///< no connection: no server has received any part of the request
  kNotDone,   ///< the server reports that it did nothing: the range is served elsewhere, or moves
  kLost,      ///< the connection ended without an answer: the request may have taken effect
  kTimedOut,  ///< no answer in time, or none before another server took over: the request may have
              ///< taken effect, or may yet take effect
  kAnswered,
};
inline constexpr int kFates = 5;

/// The router's reaction to an outcome.
enum class Next {
  kRetry,
  kPassOn,       ///< pass the server's answer to the client
  kUnavailable,  ///< 503: nothing was done, so the client may repeat the request
  kNoAnswer,     ///< 502: the outcome is unknown
  kNoAnswerYet,  ///< 504: the outcome is unknown, and the request may yet take effect
};

/// The conditions for a further attempt.
struct Chance {
  bool repeatable = true;  ///< the request's body can be sent once more
  bool time_left = true;   ///< --retry-timeout has not passed
};

/// Returns kRetry only if a retry is safe.
///
/// A change that a server may have read is never sent again, although PUT and DELETE are idempotent
/// (RFC 9110, 9.2.2). The first attempt may be delayed, and take effect after the second attempt
/// and after a newer change of another client. It would then undo that newer change.
[[nodiscard]] Next Decide(http::Method method, Fate fate, Chance chance);

/// Returns true if an answer with this status means that nothing was done, because another server
/// serves the range now or soon. This holds for 421, and for 503 if it has the field
/// `kUnservedRange`. Other refusals, such as overload, go to the client.
[[nodiscard]] bool SaysNotServed(int status, bool names_range);

}  // namespace stout::docstore
