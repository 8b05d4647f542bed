#pragma once

#include "http/http_options.h"
#include "http/message.h"

/// \file
/// The answers to clients beyond a limit. They give the limit, not the option that sets it: which
/// options there are is up to the program.

namespace stout::http {

/// 503: max_connections.
[[nodiscard]] Response MakeTooManyConnections(const HttpOptions& options);
/// 408: the request took longer than request_timeout.
[[nodiscard]] Response MakeTooLate(const HttpOptions& options);
/// 408: the body was slower than min_body_rate. Nothing was done.
[[nodiscard]] Response MakeTooSlow(const HttpOptions& options);
/// 408: max_body_bytes_in_flight was exceeded for request_timeout. Nothing was done.
[[nodiscard]] Response MakeNoRoom(const HttpOptions& options);

}  // namespace stout::http
