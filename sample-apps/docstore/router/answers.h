#pragma once

#include "http/message.h"
#include "router/retry.h"

/// \file
/// The router's own answers to requests that no server has answered.

namespace stout::docstore {

/// 503: the document had no owner for --retry-timeout.
[[nodiscard]] http::Response MakeUnowned();

/// Requires that `next` is neither kRetry nor kPassOn. `repeatable`: as in Chance.
[[nodiscard]] http::Response MakeUnserved(Next next, http::Method method, bool repeatable);

}  // namespace stout::docstore
