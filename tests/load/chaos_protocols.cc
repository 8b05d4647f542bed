#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tests/load/chaos_client.h"

namespace stout::test {
namespace {

using Kind = Operation::Kind;
using Outcome = Operation::Outcome;

std::string HttpRequest(const Operation& op) {
  const char* const method = op.op == Kind::kGet ? "GET" : op.op == Kind::kSet ? "PUT" : "DELETE";
  const std::string body = op.value.value_or("");
  return fmt::format(
      "{} /docs/{}/sections/s HTTP/1.1\r\nHost: chaos\r\nContent-Length: {}\r\n\r\n{}", method,
      op.key, body.size(), body);
}

std::optional<ChaosAnswer> HttpAnswer(const std::string& text, const Operation& op) {
  std::size_t header = text.find("\r\n\r\n");
  if (header == std::string::npos) return std::nullopt;
  header += 4;
  const std::size_t field = text.find("Content-Length: ");
  const std::size_t length = field < header ? std::stoul(text.substr(field + 16, 20)) : 0;
  if (text.size() < header + length) return std::nullopt;
  const int status = std::stoi(text.substr(9, 3));
  const bool retry_after = text.find("\r\nRetry-After:") < header;
  // Other connections may be about to end, too.
  ChaosAnswer answer{.closes = status >= 400};
  answer.missing = status == 404 && op.op != Kind::kSet;
  if (answer.missing || status / 100 == 2) {
    answer.outcome = Outcome::kOk;
    if (!answer.missing) answer.value = text.substr(header, length);
  } else if (status == 421 || (status == 503 && retry_after)) {
    answer.outcome = Outcome::kFail;
  }
  constexpr std::string_view kLocation = "\r\nLocation: http://127.0.0.1:";
  const std::size_t location = text.find(kLocation);
  if (location < header) answer.owner = std::stoi(text.substr(location + kLocation.size(), 5));
  return answer;
}

std::string RespRequest(const Operation& op) {
  switch (op.op) {
    case Kind::kGet:
      return fmt::format("GET {}\r\n", op.key);
    case Kind::kSet:
      return fmt::format("SET {} {}\r\n", op.key, *op.value);
    case Kind::kDel:
      return fmt::format("DEL {}\r\n", op.key);
    case Kind::kIncr:
      break;
  }
  return fmt::format("INCR {}\r\n", op.key);
}

std::optional<ChaosAnswer> RespAnswer(const std::string& text, const Operation& op) {
  const std::size_t line = text.find("\r\n");
  if (line == std::string::npos) return std::nullopt;
  const std::string rest = text.substr(1, line - 1);
  if (text[0] == '-') {
    const bool moved = rest.starts_with("MOVED");
    ChaosAnswer answer;
    if (moved || rest.starts_with("TRYAGAIN") || rest.starts_with("NOREPLICAS"))
      answer.outcome = Outcome::kFail;
    if (moved) answer.owner = std::stoi(rest.substr(rest.rfind(':') + 1));
    return answer;
  }
  ChaosAnswer answer{.outcome = Outcome::kOk};
  if (text[0] == '$' && rest != "-1") {
    const std::size_t length = std::stoul(rest);
    if (text.size() < line + 2 + length + 2) return std::nullopt;
    answer.value = text.substr(line + 2, length);
  } else if (op.op == Kind::kIncr) {
    answer.value = rest;
  } else {
    answer.missing = rest == "-1" || (op.op == Kind::kDel && rest == "0");
  }
  return answer;
}

}  // namespace

const ChaosProtocol kDocumentProtocol{HttpRequest, HttpAnswer, false};
const ChaosProtocol kRespProtocol{RespRequest, RespAnswer, true};

}  // namespace stout::test
