#pragma once

#include <boost/beast/http/fields.hpp>
#include <string>
#include <string_view>

/// \file
/// What a gateway does to the header fields of the messages that it forwards.

namespace stout::docstore {

/// Removes what concerns one connection alone: Connection and the fields that it names, and those
/// that are known to (RFC 9110, 7.6.1). Framing is part of it: the body is framed anew.
void RemoveHopByHop(boost::beast::http::fields& fields);

/// Prepares a request to a server: removes hop-by-hop fields and Expect, which the router has met
/// itself (RFC 9110, 10.1.1). Adds the client to X-Forwarded-For and the router to Via.
void MakeForwarded(boost::beast::http::fields& request, const std::string& client);

/// Prepares an answer to a client: removes hop-by-hop fields, adds the router to Via.
void MakeReturned(boost::beast::http::fields& response);

/// The value of a field as a standard string view.
[[nodiscard]] std::string_view ValueOf(const boost::beast::http::fields& fields,
                                       std::string_view name);

}  // namespace stout::docstore
