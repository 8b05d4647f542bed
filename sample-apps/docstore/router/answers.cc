#include "router/answers.h"

namespace stout::docstore {
namespace {

http::Response Unavailable(std::string_view error) {
  return http::MakeUnavailable(
      error,
      "nothing was done: repeat the request after Retry-After seconds; if this continues, check "
      "the servers and their lease service");
}

http::Response Unknown(int status, http::Method method, std::string_view error) {
  const bool changes = method == http::Method::kPut || method == http::Method::kDelete;
  return http::MakeError(status, error,
                         changes ? "the change may or may not have taken effect, or may yet take "
                                   "effect: read the current state, or repeat the request"
                                 : "repeat the request");
}

}  // namespace

http::Response MakeUnowned() {
  return Unavailable("no server owned the document within --retry-timeout");
}

http::Response MakeUnserved(Next next, http::Method method, bool repeatable) {
  switch (next) {
    case Next::kNoAnswer:
      return Unknown(502, method, "the document's server ended the connection without an answer");
    case Next::kNoAnswerYet:
      return Unknown(504, method, "the document's server did not answer in time");
    default:
      return Unavailable(
          repeatable ? "no server served the request within --retry-timeout"
                     : "the server that was asked does not serve the document now, and the body is "
                       "too large to be sent again: see --kept-body-bytes");
  }
}

}  // namespace stout::docstore
