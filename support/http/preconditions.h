#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stout::http {

/// The preconditions of a request, as raw header fields. A field that was not sent is nullopt.
struct Preconditions {
  std::optional<std::string> if_match;
  std::optional<std::string> if_none_match;
};

enum class Verdict {
  kProceed,
  kUnchanged,  ///< If-None-Match names the current state: 304 for a read, 412 for a write.
  kFailed,     ///< 412
};

/// Compares the preconditions with the current entity tag, which is empty if there is no state.
/// An entity tag that cannot be parsed matches nothing. Source: RFC 9110, 13.1 and 13.2.2.
[[nodiscard]] Verdict Evaluate(const Preconditions& preconditions, std::string_view etag);

}  // namespace stout::http
