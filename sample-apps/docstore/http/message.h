#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/etag.h"
#include "stout/error.h"
#include "stout/unique_function.h"

/// \file
/// HTTP as the document service sees it: no sockets, no parser.

namespace stout::docstore {

enum class Method { kGet, kHead, kPut, kDelete, kOther };

/// "GET", ...; "OTHER" for what no resource supports.
[[nodiscard]] std::string_view MethodName(Method method);

struct Request {
  Method method = Method::kOther;
  std::string target;  ///< As received: path, with the query if there is one.
  Preconditions preconditions;
  std::string body;
};

struct Response {
  int status = 200;
  std::string etag;                                    ///< Empty: no ETag field.
  std::string_view content_type = "application/json";  ///< Text that lives for ever.
  std::shared_ptr<const std::string> body;             ///< Shared with the map; null: none.
  std::string_view allow;                              ///< Of a 405; text that lives for ever.
  std::chrono::seconds retry_after{};                  ///< Zero: no Retry-After field.
  std::string location;  ///< Where to send the request instead; empty: no Location field.
  /// Nothing was done, for this range of documents is not served here (now). See kUnservedRange.
  std::optional<std::uint32_t> unserved_range;
  bool close = false;  ///< Serve no further request of this connection.
};

/// The field that names Response::unserved_range: routers then know that the request may be sent
/// again, to whoever owns the range by then, whatever it was.
inline constexpr std::string_view kUnservedRange = "Docstore-Unserved-Range";

using Respond = UniqueFunction<void(Response)>;

/// A response whose JSON body is {"error": what is wrong, "remedy": what to do}.
[[nodiscard]] Response MakeError(int status, std::string_view error, std::string_view remedy);

/// What a client is told when libstout could not do what it asked for.
[[nodiscard]] Response MakeError(ErrorCode ec);

[[nodiscard]] Response MakeJson(int status, std::string json);

/// Whether the body is sent, or only described: neither after HEAD, nor with 204 and 304.
[[nodiscard]] bool SendsBody(const Response& response, Method method);

/// The status line and all header fields, blank line included, as HTTP/1.1. `close`: this is the
/// connection's last response.
[[nodiscard]] std::string FormatHead(const Response& response, bool close);

}  // namespace stout::docstore
