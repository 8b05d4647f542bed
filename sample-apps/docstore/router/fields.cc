#include "router/fields.h"

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <vector>

namespace stout::docstore {
namespace {

namespace beast = boost::beast;
using boost::beast::iequals;

constexpr std::string_view kVia = "1.1 docstore-router";

// Appends to a list-valued field; several fields of the name become one (RFC 9110, 5.3).
void Append(beast::http::fields& fields, std::string_view name, std::string_view value) {
  const boost::beast::string_view field(name.data(), name.size());
  std::string list;
  const auto [begin, end] = fields.equal_range(field);
  for (auto each = begin; each != end; ++each) {
    list.append(each->value().data(), each->value().size());
    list += ", ";
  }
  list += value;
  fields.set(field, list);
}

}  // namespace

void RemoveHopByHop(beast::http::fields& fields) {
  std::vector<std::string> named;
  const auto [begin, end] = fields.equal_range(beast::http::field::connection);
  for (auto field = begin; field != end; ++field) {
    for (const auto& token : beast::http::token_list(field->value())) named.emplace_back(token);
  }
  for (const std::string& name : named) {
    // A client that names the length here tries to have the body taken for something else.
    if (!iequals(name, "content-length") && !iequals(name, "host")) fields.erase(name);
  }
  for (const beast::http::field field :
       {beast::http::field::connection, beast::http::field::keep_alive,
        beast::http::field::proxy_connection, beast::http::field::proxy_authorization,
        beast::http::field::proxy_authenticate, beast::http::field::te, beast::http::field::trailer,
        beast::http::field::transfer_encoding, beast::http::field::upgrade}) {
    fields.erase(field);
  }
}

void MakeForwarded(beast::http::fields& request, const std::string& client) {
  RemoveHopByHop(request);
  request.erase(beast::http::field::expect);
  Append(request, "X-Forwarded-For", client);
  Append(request, "Via", kVia);
}

void MakeReturned(beast::http::fields& response) {
  RemoveHopByHop(response);
  Append(response, "Via", kVia);
}

std::string_view ValueOf(const beast::http::fields& fields, std::string_view name) {
  const auto value = fields[boost::beast::string_view(name.data(), name.size())];
  return {value.data(), value.size()};
}

}  // namespace stout::docstore
