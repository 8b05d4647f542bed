#pragma once

#include <boost/beast/http/field.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/verb.hpp>
#include <boost/system/error_code.hpp>
#include <optional>
#include <string>

#include "http/http_options.h"
#include "http/message.h"

/// \file
/// From Beast's words to ours.

namespace stout::docstore {

[[nodiscard]] Method ToMethod(boost::beast::http::verb verb);

/// All fields of one name as one list (RFC 9110, 5.3); nothing if there is none.
[[nodiscard]] std::optional<std::string> ListOf(const boost::beast::http::fields& fields,
                                                boost::beast::http::field name);

/// What a client is told whose request cannot be parsed, or is beyond a limit.
[[nodiscard]] Response MakeParseError(boost::system::error_code ec, const HttpOptions& options);

}  // namespace stout::docstore
