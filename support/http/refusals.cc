#include "http/refusals.h"

#include <fmt/format.h>

#include "stout/core/policy/basic.h"

namespace stout::http {

Response MakeTooManyConnections(const HttpOptions& options) {
  return MakeUnavailable(
      fmt::format("the server has its maximum of {} connections", options.max_connections),
      "connect again after Retry-After seconds, or use fewer connections");
}

Response MakeTooLate(const HttpOptions& options) {
  return MakeError(
      408,
      fmt::format("the request did not arrive within {}", FormatDuration(options.request_timeout)),
      "send the whole request within this time, on a new connection");
}

Response MakeTooSlow(const HttpOptions& options) {
  return MakeError(
      408, fmt::format("the body arrived at less than {} bytes per second", options.min_body_rate),
      "nothing was done: send the body faster, on a new connection");
}

Response MakeNoRoom(const HttpOptions& options) {
  return MakeError(
      408,
      fmt::format("there was no room for the body within {}: the server holds at most {} bytes "
                  "of bodies",
                  FormatDuration(options.request_timeout), options.max_body_bytes_in_flight),
      "nothing was done: send the request again, on a new connection");
}

}  // namespace stout::http
