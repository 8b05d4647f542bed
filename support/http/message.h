#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/preconditions.h"
#include "stout/unique_function.h"

/// \file
/// HTTP as a service sees it: no sockets, no parser.

namespace stout::http {

enum class Method { kGet, kHead, kPut, kDelete, kOther };

/// "GET", ...; "OTHER" for what no resource supports.
[[nodiscard]] std::string_view MethodName(Method method);

struct Request {
  Method method = Method::kOther;
  std::string target;  ///< As received: path, with the query if there is one.
  Preconditions preconditions;
  std::string body;
};

struct Field {
  std::string_view name;  ///< Text that lives for ever.
  std::string value;
};

struct Response {
  int status = 200;
  std::string etag;                                    ///< Empty: no ETag field.
  std::string_view content_type = "application/json";  ///< Text that lives for ever.
  std::shared_ptr<const std::string> body;             ///< May be shared; null: none.
  std::string_view allow;                              ///< Of a 405; text that lives for ever.
  std::chrono::seconds retry_after{};                  ///< Zero: no Retry-After field.
  std::string location;       ///< Where to send the request instead; empty: no Location field.
  std::vector<Field> fields;  ///< Further ones.
  bool close = false;         ///< Serve no further request of this connection.
};

/// The path of a request's target: without the query, and without the scheme and authority that a
/// request through a proxy carries (RFC 9112, 3.2.2).
[[nodiscard]] std::string_view PathOf(std::string_view target);

using Respond = UniqueFunction<void(Response)>;

/// A response whose JSON body is {"error": what is wrong, "remedy": what to do}.
[[nodiscard]] Response MakeError(int status, std::string_view error, std::string_view remedy);

/// 503: the server serves no further request of this connection.
[[nodiscard]] Response MakeDraining();

[[nodiscard]] Response MakeJson(int status, std::string json);

/// Whether the body is sent, or only described: neither after HEAD, nor with 204 and 304.
[[nodiscard]] bool SendsBody(const Response& response, Method method);

/// The status line and all header fields, blank line included, as HTTP/1.1. `close`: this is the
/// connection's last response.
[[nodiscard]] std::string FormatHead(const Response& response, bool close);

}  // namespace stout::http
