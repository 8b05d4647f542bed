#pragma once

#include <boost/beast/http/fields.hpp>
#include <string>
#include <string_view>

/// \file
/// Changes that a gateway makes to the header fields of forwarded messages.

namespace stout::docstore {

/// Removes the fields of a single connection: Connection, the fields that it names, and the
/// hop-by-hop fields of RFC 9110, 7.6.1. It also removes framing, because the body is framed anew.
void RemoveHopByHop(boost::beast::http::fields& fields);

/// Prepares a request to a server. Removes hop-by-hop fields, and Expect, which the router answers
/// itself (RFC 9110, 10.1.1). Adds the client to X-Forwarded-For and the router to Via.
void MakeForwarded(boost::beast::http::fields& request, const std::string& client);

/// Prepares an answer to a client: removes hop-by-hop fields, adds the router to Via.
void MakeReturned(boost::beast::http::fields& response);

/// The value of a field as a standard string view.
[[nodiscard]] std::string_view ValueOf(const boost::beast::http::fields& fields,
                                       std::string_view name);

}  // namespace stout::docstore
