#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stout::http {

/// What a request demands of the state that it finds; the raw header fields, absent if not sent.
struct Preconditions {
  std::optional<std::string> if_match;
  std::optional<std::string> if_none_match;
};

enum class Verdict {
  kProceed,
  kUnchanged,  ///< If-None-Match names the current state: 304 to a read, 412 to a write.
  kFailed,     ///< 412
};

/// Compares the preconditions with the current entity tag, which is empty if there is no state.
/// RFC 9110, 13.1 and 13.2.2; what cannot be parsed matches nothing.
[[nodiscard]] Verdict Evaluate(const Preconditions& preconditions, std::string_view etag);

}  // namespace stout::http
