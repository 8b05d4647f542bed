#pragma once

#include <boost/beast/http/field.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/verb.hpp>
#include <boost/system/error_code.hpp>
#include <optional>
#include <string>

#include "http/http_options.h"
#include "http/message.h"

/// \file
/// Conversions from Beast's types, and the checks that Beast's parser lacks.

namespace stout::http {

[[nodiscard]] Method ToMethod(boost::beast::http::verb verb);

/// Joins all fields with this name to one list (RFC 9110, 5.3). Returns nullopt if there is none.
[[nodiscard]] std::optional<std::string> ListOf(const boost::beast::http::fields& fields,
                                                boost::beast::http::field name);
[[nodiscard]] std::optional<std::string> ListOf(const boost::beast::http::fields& fields,
                                                std::string_view name);

/// Returns true if a chunk extension contains a quote or a control character.
[[nodiscard]] bool IsOddChunkExtension(std::string_view extensions);

/// Returns nullopt if the header defines the end of the body and the host without doubt. Otherwise
/// returns the refusal, which closes the connection. One reader could take the bytes that follow
/// as part of this request, and another reader as the next request (request smuggling).
///
/// Accepts one Content-Length of digits or one `Transfer-Encoding: chunked`, not both, and in
/// HTTP/1.1 exactly one Host. Call it after the header and before the body: a parser adds the
/// fields of a trailer to those of the header.
/// Source: RFC 9112, sections 3.2, 6.1, 6.3 and 11.2.
[[nodiscard]] std::optional<Response> CheckFraming(
    const boost::beast::http::request_header<>& header);

/// Makes a parser refuse odd chunk extensions. One reader ends the line of a chunk at a bare LF,
/// another takes the LF as quoted text, so they see different bodies. Call this before the parser
/// gets its first byte. The parser ignores all other extensions.
template <typename Parser>
void RefuseOddChunkExtensions(Parser& parser) {
  // The parser keeps a reference.
  static auto check = [](std::uint64_t, boost::beast::string_view extensions,
                         boost::system::error_code& ec) {
    if (IsOddChunkExtension({extensions.data(), extensions.size()})) {
      ec = boost::beast::http::error::bad_chunk_extension;
    }
  };
  parser.on_chunk_header(check);
}

/// Returns the answer to a request that cannot be parsed, or that exceeds a limit.
[[nodiscard]] Response MakeParseError(boost::system::error_code ec, const HttpOptions& options);

}  // namespace stout::http
