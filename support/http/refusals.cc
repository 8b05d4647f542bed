#include "http/refusals.h"

#include <fmt/format.h>

#include "stout/core/policy/basic.h"

namespace stout::http {

Response MakeTooManyConnections(const HttpOptions& options) {
  Response response =
      MakeError(503, fmt::format("there are {} connections, the maximum", options.max_connections),
                "connect again after Retry-After seconds, or use fewer connections");
  response.retry_after = std::chrono::seconds(1);
  return response;
}

Response MakeTooLate(const HttpOptions& options) {
  return MakeError(
      408,
      fmt::format("the request did not arrive within {}", FormatDuration(options.request_timeout)),
      "send the request at once, on a new connection");
}

Response MakeTooSlow(const HttpOptions& options) {
  return MakeError(
      408, fmt::format("the body arrived at less than {} bytes per second", options.min_body_rate),
      "nothing was done: send the body at once, on a new connection");
}

Response MakeNoRoom(const HttpOptions& options) {
  return MakeError(
      408,
      fmt::format("there was no room for the body within {}: all bodies together hold "
                  "at most {} bytes",
                  FormatDuration(options.request_timeout), options.max_body_bytes_in_flight),
      "nothing was done: send the request again, on a new connection");
}

}  // namespace stout::http
