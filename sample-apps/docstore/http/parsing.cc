#include "http/parsing.h"

#include <boost/beast/http/error.hpp>

namespace stout::docstore {

namespace http = boost::beast::http;

Method ToMethod(http::verb verb) {
  switch (verb) {
    case http::verb::get:
      return Method::kGet;
    case http::verb::head:
      return Method::kHead;
    case http::verb::put:
      return Method::kPut;
    case http::verb::delete_:
      return Method::kDelete;
    default:
      return Method::kOther;
  }
}

std::optional<std::string> ListOf(const http::fields& fields, http::field name) {
  std::optional<std::string> list;
  const auto [begin, end] = fields.equal_range(name);
  for (auto field = begin; field != end; ++field) {
    if (list) *list += ", ";
    if (!list) list.emplace();
    list->append(field->value().data(), field->value().size());
  }
  return list;
}

Response MakeParseError(boost::system::error_code ec, const HttpOptions& options) {
  if (ec == http::error::body_limit) {
    return MakeError(413, "the body is larger than --max-section-bytes",
                     "send at most " + std::to_string(options.max_body_bytes) + " bytes");
  }
  if (ec == http::error::header_limit) {
    return MakeError(431, "the header is larger than --max-header-bytes",
                     "send at most " + std::to_string(options.max_header_bytes) + " bytes");
  }
  if (ec == http::error::bad_version) {
    return MakeError(505, "the HTTP version is not supported", "use HTTP/1.1");
  }
  return MakeError(400, "this is not an HTTP/1.1 request: " + ec.message(),
                   "correct the request and send it on a new connection");
}

}  // namespace stout::docstore
