#pragma once

#include "http/http_options.h"
#include "http/message.h"

/// \file
/// The answers to clients that exceed a limit. They give the limit but not the option that sets it,
/// because each program has its own options.

namespace stout::http {

/// 503: the server already has max_connections.
[[nodiscard]] Response MakeTooManyConnections(const HttpOptions& options);
/// 408: the request did not arrive within request_timeout.
[[nodiscard]] Response MakeTooLate(const HttpOptions& options);
/// 408: the body was slower than min_body_rate. The request had no effect.
[[nodiscard]] Response MakeTooSlow(const HttpOptions& options);
/// 408: max_body_bytes_in_flight left no room for the body within request_timeout. The request had
/// no effect.
[[nodiscard]] Response MakeNoRoom(const HttpOptions& options);

}  // namespace stout::http
