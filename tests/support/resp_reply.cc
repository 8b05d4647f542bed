#include "tests/support/resp_reply.h"

#include <string>

namespace stout::test {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

// The number behind the type.
long NumberOf(std::string_view reply) {
  return std::stol(std::string(reply.substr(1, reply.find(kLineEnd) - 1)));
}

std::size_t CountElements(std::string_view reply) {
  const long number = NumberOf(reply);
  return number < 0 ? 0 : static_cast<std::size_t>(number) * (reply.front() == '%' ? 2 : 1);
}

}  // namespace

std::optional<std::size_t> ReplySize(std::string_view bytes) {
  const std::size_t line = bytes.find(kLineEnd);
  if (line == std::string_view::npos) return std::nullopt;
  std::size_t size = line + kLineEnd.size();
  if (bytes.front() == '$' || bytes.front() == '=') {
    const long length = NumberOf(bytes);
    if (length >= 0) size += static_cast<std::size_t>(length) + kLineEnd.size();
  } else if (HasElements(bytes)) {
    for (std::size_t left = CountElements(bytes); left > 0; --left) {
      const auto element = ReplySize(bytes.substr(size));
      if (!element) return std::nullopt;
      size += *element;
    }
  }
  return size <= bytes.size() ? std::optional(size) : std::nullopt;
}

std::vector<std::string_view> ElementsOf(std::string_view reply) {
  std::vector<std::string_view> elements(CountElements(reply));
  reply.remove_prefix(reply.find(kLineEnd) + kLineEnd.size());
  for (std::string_view& element : elements) {
    element = reply.substr(0, *ReplySize(reply));
    reply.remove_prefix(element.size());
  }
  return elements;
}

bool HasElements(std::string_view reply) {
  return !reply.empty() && std::string_view("*%~>").find(reply.front()) != std::string_view::npos;
}

}  // namespace stout::test
