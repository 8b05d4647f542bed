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
/// From Beast's words to ours.

namespace stout::http {

[[nodiscard]] Method ToMethod(boost::beast::http::verb verb);

/// All fields of one name as one list (RFC 9110, 5.3); nothing if there is none.
[[nodiscard]] std::optional<std::string> ListOf(const boost::beast::http::fields& fields,
                                                boost::beast::http::field name);

[[nodiscard]] bool IsOddChunkExtension(std::string_view extensions);

/// Returns nullopt if the header leaves no doubt where the body ends and which host is meant.
/// Otherwise returns the refusal, which closes the connection: the bytes that follow could be read
/// as part of this request or as the next one, and two readers need not agree (request smuggling).
///
/// Accepts one Content-Length of digits or one `Transfer-Encoding: chunked`, not both, and in
/// HTTP/1.1 exactly one Host. Call it after the header and before the body: a parser adds the
/// fields of a trailer to those of the header.
/// Source: RFC 9112, sections 3.2, 6.1, 6.3 and 11.2.
[[nodiscard]] std::optional<Response> CheckFraming(
    const boost::beast::http::request_header<>& header);

/// Makes a parser refuse chunk extensions with a quote or a control character: readers that end a
/// chunk's line at a bare LF and readers that take it as quoted text see different bodies. Call it
/// before the parser gets its first byte. Extensions without these are ignored.
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

/// The answer to a request that cannot be parsed, or that exceeds a limit.
[[nodiscard]] Response MakeParseError(boost::system::error_code ec, const HttpOptions& options);

}  // namespace stout::http
