#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stout/core/types.h"

namespace stout::docstore {

/// The entity tag of a state: `"<epoch>.<version>"`, quotes included. The pair grows with each
/// change of a key, also across restarts of the server.
[[nodiscard]] std::string FormatETag(Stamp stamp);

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

}  // namespace stout::docstore
