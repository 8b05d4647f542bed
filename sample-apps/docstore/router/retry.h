#pragma once

#include "http/message.h"

namespace stout::docstore {

/// The outcome of one attempt to have a request served.
enum class Fate {
  kNotSent,   ///< There was no connection: no server has seen anything of the request.
  kNotDone,   ///< The server says that it has done nothing: the range is another's, or on its way.
  kLost,      ///< The connection ended without an answer: the request may have been done.
  kTimedOut,  ///< No answer in time, or not before another server took over: it may have been done,
              ///< and may yet be.
  kAnswered,
};
inline constexpr int kFates = 5;

/// The router's reaction to an outcome.
enum class Next {
  kRetry,
  kPassOn,       ///< Give the server's answer to the client.
  kUnavailable,  ///< 503: nothing was done, the client may repeat the request.
  kNoAnswer,     ///< 502: it is not known what was done.
  kNoAnswerYet,  ///< 504: it is not known what was done, or will be.
};

/// The part of a request that is left for a further attempt.
struct Chance {
  bool repeatable = true;  ///< The request's body can be given once more.
  bool time_left = true;   ///< --retry-timeout has not passed.
};

/// Retries what is safe, and only that.
///
/// A change that a server may have read is never sent again, although PUT and DELETE are idempotent
/// (RFC 9110, 9.2.2): the first attempt may still wait somewhere, and take effect after the second
/// and after a newer change of another client, which it would undo.
[[nodiscard]] Next Decide(http::Method method, Fate fate, Chance chance);

/// Returns true if an answer of this status means that nothing was done because the range is served
/// elsewhere, now or soon: 421, and 503 if it names the range (`kUnservedRange`). Other refusals,
/// such as overload, go to the client.
[[nodiscard]] bool SaysNotServed(int status, bool names_range);

}  // namespace stout::docstore
