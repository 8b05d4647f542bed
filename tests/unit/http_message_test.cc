#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "http/message.h"
#include "http/preconditions.h"
#include "http/refusals.h"
#include "tests/support/catch.h"

namespace stout::http {
namespace {

TEST_CASE("preconditions are compared as RFC 9110 says", "[http]") {
  const std::string tag = "\"3.17\"";
  const auto evaluate = [](std::optional<std::string> match, std::optional<std::string> none,
                           std::string_view current) {
    return Evaluate({std::move(match), std::move(none)}, current);
  };
  using enum Verdict;
  CHECK(evaluate({}, {}, tag) == kProceed);
  CHECK(evaluate({}, {}, "") == kProceed);
  // If-Match
  CHECK(evaluate("\"3.17\"", {}, tag) == kProceed);
  CHECK(evaluate("\"1.1\" , \"3.17\"", {}, tag) == kProceed);
  CHECK(evaluate("*", {}, tag) == kProceed);
  CHECK(evaluate("\"3.1\"", {}, tag) == kFailed);
  CHECK(evaluate("W/\"3.17\"", {}, tag) == kFailed);  // compares strongly
  CHECK(evaluate("*", {}, "") == kFailed);
  CHECK(evaluate("\"3.17\"", {}, "") == kFailed);
  CHECK(evaluate("3.17", {}, tag) == kFailed);  // not an entity tag
  CHECK(evaluate("\"3.17", {}, tag) == kFailed);
  CHECK(evaluate("", {}, tag) == kFailed);
  // If-None-Match
  CHECK(evaluate({}, "*", "") == kProceed);
  CHECK(evaluate({}, "*", tag) == kUnchanged);
  CHECK(evaluate({}, "\"3.17\"", tag) == kUnchanged);
  CHECK(evaluate({}, "W/\"3.17\"", tag) == kUnchanged);  // compares weakly
  CHECK(evaluate({}, "\"3.16\",\"3.18\"", tag) == kProceed);
  // If-Match goes first
  CHECK(evaluate("\"1.1\"", "\"3.17\"", tag) == kFailed);
  CHECK(evaluate("*", "\"3.17\"", tag) == kUnchanged);
}

TEST_CASE("a response has the fields that its status asks for", "[http]") {
  Response response = MakeTooManyConnections({});
  const std::string busy = FormatHead(response, false);
  CHECK(busy.starts_with("HTTP/1.1 503 Service Unavailable\r\nDate: "));
  CHECK(busy.find("\r\nRetry-After: 1\r\n") != std::string::npos);
  CHECK(busy.find("Connection") == std::string::npos);
  CHECK(busy.ends_with("\r\n\r\n"));
  CHECK(response.body->find("\"remedy\":") != std::string::npos);
  response.status = 204;
  const std::string empty = FormatHead(response, true);
  CHECK(empty.find("Content-") == std::string::npos);
  CHECK(empty.find("\r\nConnection: close\r\n") != std::string::npos);
  CHECK_FALSE(SendsBody(response, Method::kGet));
}

}  // namespace
}  // namespace stout::http
