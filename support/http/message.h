#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/preconditions.h"
#include "stout/unique_function.h"

/// \file
/// The requests and responses of a service, without sockets or a parser.

namespace stout::http {

enum class Method { kGet, kHead, kPut, kDelete, kOther };

/// Returns "GET", ..., or "OTHER" for a method that no resource supports.
[[nodiscard]] std::string_view MethodName(Method method);

struct Request {
  Method method = Method::kOther;
  std::string target;  ///< as received: the path, with the query if there is one
  Preconditions preconditions;
  std::string tenant;  ///< the field HttpOptions::tenant_field; "a, b" if there are two
  std::string body;
};

struct Field {
  std::string_view name;  ///< static text
  std::string value;
};

struct Response {
  int status = 200;
  std::string etag;                                    ///< empty: no ETag field
  std::string_view content_type = "application/json";  ///< static text
  std::shared_ptr<const std::string> body;             ///< may be shared; null: no body
  std::string_view allow;                              ///< methods for a 405; static text
  std::chrono::seconds retry_after{};                  ///< zero: no Retry-After field
  std::string location;       ///< URL that serves the request; empty: no Location field
  std::vector<Field> fields;  ///< additional fields
  bool close = false;         ///< serve no further request of this connection
};

/// Returns the path of a request's target, without the query. It also removes the scheme and the
/// authority, which a request through a proxy has (RFC 9112, 3.2.2).
[[nodiscard]] std::string_view PathOf(std::string_view target);

using Respond = UniqueFunction<void(Response)>;

/// Makes a response with the JSON body {"error": error, "remedy": remedy}. `error` gives the
/// problem, `remedy` the client's next step.
[[nodiscard]] Response MakeError(int status, std::string_view error, std::string_view remedy);

/// Makes a 503, with the time after which the client may repeat the request.
[[nodiscard]] Response MakeUnavailable(
    std::string_view error,
    std::string_view remedy = "repeat the request after Retry-After seconds",
    std::chrono::seconds retry_after = std::chrono::seconds(1));

/// Makes a 503: the server is draining, and serves no further request of this connection.
[[nodiscard]] Response MakeDraining();

/// Makes a 405. `allowed` is static text: "GET, HEAD".
[[nodiscard]] Response MakeMethodError(std::string_view allowed);

[[nodiscard]] Response MakeJson(int status, std::string json);

/// Makes the answer of GET /healthz if all is well.
[[nodiscard]] Response MakeHealthy();

/// Makes the answer of GET /metrics from Prometheus' text format 0.0.4.
[[nodiscard]] Response MakePrometheus(std::string text);

/// Returns true if the body is sent. It is not sent for HEAD, nor with 204 or 304.
[[nodiscard]] bool SendsBody(const Response& response, Method method);

/// Returns the status line, all header fields and the blank line, as HTTP/1.1. `close`: this is the
/// connection's last response.
[[nodiscard]] std::string FormatHead(const Response& response, bool close);

}  // namespace stout::http
