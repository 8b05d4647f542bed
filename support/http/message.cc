#include "http/message.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <ctime>
#include <iterator>
#include <utility>

namespace stout::http {
namespace {

std::string_view Reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    default:
      return "";
  }
}

// Returns the value of the Date field. Each thread formats it once a second.
const std::string& Date() {
  thread_local std::time_t formatted_at = 0;
  thread_local std::string text;
  if (const std::time_t now = std::time(nullptr); now != formatted_at) {
    text = fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(now));
    formatted_at = now;
  }
  return text;
}

}  // namespace

std::string_view MethodName(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kHead:
      return "HEAD";
    case Method::kPut:
      return "PUT";
    case Method::kDelete:
      return "DELETE";
    case Method::kOther:
      break;
  }
  return "OTHER";
}

std::string_view PathOf(std::string_view target) {
  if (target.starts_with("http://")) {
    const auto slash = target.find('/', 7);
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  return target.substr(0, target.find('?'));
}

Response MakeJson(int status, std::string json) {
  Response response;
  response.status = status;
  response.body = std::make_shared<const std::string>(std::move(json));
  return response;
}

Response MakeError(int status, std::string_view error, std::string_view remedy) {
  const boost::json::value body = {{"error", error}, {"remedy", remedy}};
  return MakeJson(status, boost::json::serialize(body) + '\n');
}

Response MakeUnavailable(std::string_view error, std::string_view remedy,
                         std::chrono::seconds retry_after) {
  Response response = MakeError(503, error, remedy);
  response.retry_after = retry_after;
  return response;
}

Response MakeDraining() {
  Response response = MakeUnavailable(
      "the server is shutting down",
      "repeat the request after Retry-After seconds on a new connection", std::chrono::seconds(2));
  response.close = true;
  return response;
}

Response MakeMethodError(std::string_view allowed) {
  Response response = MakeError(405, "this path does not support the method",
                                fmt::format("use one of {}", allowed));
  response.allow = allowed;
  return response;
}

Response MakeHealthy() { return MakeJson(200, "{\"status\":\"ok\"}\n"); }

Response MakePrometheus(std::string text) {
  Response response = MakeJson(200, std::move(text));
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  return response;
}

bool SendsBody(const Response& response, Method method) {
  return response.body != nullptr && method != Method::kHead && response.status != 204 &&
         response.status != 304;
}

std::string FormatHead(const Response& response, bool close) {
  std::string head;
  head.reserve(256);
  auto out = std::back_inserter(head);
  fmt::format_to(out, "HTTP/1.1 {} {}\r\nDate: {}\r\n", response.status, Reason(response.status),
                 Date());
  if (!response.etag.empty()) fmt::format_to(out, "ETag: {}\r\n", response.etag);
  if (!response.allow.empty()) fmt::format_to(out, "Allow: {}\r\n", response.allow);
  if (!response.location.empty()) fmt::format_to(out, "Location: {}\r\n", response.location);
  for (const Field& field : response.fields) {
    fmt::format_to(out, "{}: {}\r\n", field.name, field.value);
  }
  if (response.retry_after.count() > 0) {
    fmt::format_to(out, "Retry-After: {}\r\n", response.retry_after.count());
  }
  if (response.status != 204 && response.status != 304) {
    if (response.body != nullptr)
      fmt::format_to(out, "Content-Type: {}\r\n", response.content_type);
    // A response to HEAD describes the body that GET would send.
    fmt::format_to(out, "Content-Length: {}\r\n", response.body ? response.body->size() : 0);
  }
  if (close) head += "Connection: close\r\n";
  head += "\r\n";
  return head;
}

}  // namespace stout::http
