#include "http/parsing.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>

namespace stout::http {
namespace {

namespace beast = boost::beast;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsHostCharacter(char c) {
  return c > ' ' && c < 0x7F && std::string_view("/\\?#@,\"<>").find(c) == std::string_view::npos;
}

Response RefuseFraming(int status, std::string_view error) {
  Response response = MakeError(status, error,
                                "send one Host, and the body with one Content-Length or with "
                                "'Transfer-Encoding: chunked', on a new connection");
  response.close = true;
  return response;
}

}  // namespace

Method ToMethod(beast::http::verb verb) {
  switch (verb) {
    case beast::http::verb::get:
      return Method::kGet;
    case beast::http::verb::head:
      return Method::kHead;
    case beast::http::verb::put:
      return Method::kPut;
    case beast::http::verb::delete_:
      return Method::kDelete;
    default:
      return Method::kOther;
  }
}

std::optional<std::string> ListOf(const beast::http::fields& fields, beast::http::field name) {
  const beast::string_view text = beast::http::to_string(name);
  return ListOf(fields, std::string_view(text.data(), text.size()));
}

std::optional<std::string> ListOf(const beast::http::fields& fields, std::string_view name) {
  std::optional<std::string> list;
  const auto [begin, end] = fields.equal_range(beast::string_view(name.data(), name.size()));
  for (auto field = begin; field != end; ++field) {
    if (list) *list += ", ";
    if (!list) list.emplace();
    list->append(field->value().data(), field->value().size());
  }
  return list;
}

bool IsOddChunkExtension(std::string_view extensions) {
  return std::any_of(extensions.begin(), extensions.end(), [](unsigned char c) {
    return c == '"' || (c < ' ' && c != '\t') || c == 0x7F;
  });
}

std::optional<Response> CheckFraming(const beast::http::request_header<>& header) {
  const auto lengths = header.count(beast::http::field::content_length);
  const auto codings = header.count(beast::http::field::transfer_encoding);
  if (lengths + codings > 1) {
    return RefuseFraming(400, "the request has more than one Content-Length or Transfer-Encoding");
  }
  if (codings == 1) {
    if (header.version() < 11) return RefuseFraming(400, "HTTP/1.0 has no Transfer-Encoding");
    if (!beast::iequals(header[beast::http::field::transfer_encoding], "chunked")) {
      return RefuseFraming(501, "the body has a transfer coding that is not supported");
    }
  }
  const auto length = header[beast::http::field::content_length];
  if (!std::all_of(length.begin(), length.end(), IsDigit)) {
    return RefuseFraming(400, "Content-Length is not a number");
  }
  const auto hosts = header.count(beast::http::field::host);
  if (hosts > 1) return RefuseFraming(400, "the request has more than one Host");
  if (hosts == 0 && header.version() >= 11) {
    return RefuseFraming(400, "the request has no Host");
  }
  const auto host = header[beast::http::field::host];
  if (!std::all_of(host.begin(), host.end(), IsHostCharacter)) {
    return RefuseFraming(400, "Host is not a host name with an optional port");
  }
  return std::nullopt;
}

Response MakeParseError(boost::system::error_code ec, const HttpOptions& options) {
  if (ec == beast::http::error::body_limit) {
    const auto most = std::min(options.max_body_bytes, options.max_body_bytes_in_flight);
    return MakeError(413, "the body is too large",
                     "send at most " + std::to_string(most) + " bytes");
  }
  // A buffer with a limit reports this as buffer_overflow.
  if (ec == beast::http::error::header_limit || ec == beast::http::error::buffer_overflow) {
    return MakeError(431, "the header, the trailer or the line of a chunk is too large",
                     "send at most " + std::to_string(options.max_header_bytes) + " bytes");
  }
  if (ec == beast::http::error::bad_version) {
    return MakeError(505, "the HTTP version is not supported", "use HTTP/1.1");
  }
  return MakeError(400, "this is not an HTTP/1.1 request: " + ec.message(),
                   "correct the request and send it on a new connection");
}

}  // namespace stout::http
