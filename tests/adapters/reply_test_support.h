#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "resp/client/reply.h"

namespace stout::resp {

inline Reply Integer(std::int64_t value) {
  return {.kind = Reply::Kind::kInteger, .integer = value};
}
inline Reply Text(Reply::Kind kind, std::string text) {
  return {.kind = kind, .text = std::move(text)};
}
inline Reply List(std::vector<Reply> elements) {
  return {.kind = Reply::Kind::kArray, .elements = std::move(elements)};
}

// For what Catch prints; beside the type, where it looks.
inline std::ostream& operator<<(std::ostream& out, const Reply& reply) {
  return out << static_cast<int>(reply.kind) << ' ' << reply.integer << ' ' << reply.text;
}

}  // namespace stout::resp
