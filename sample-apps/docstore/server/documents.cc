#include "server/documents.h"

#include <fmt/format.h>

namespace stout::docstore {
namespace {

// Returns true if the change will never take effect.
bool IsFinal(ErrorCode ec) {
  return ec == Errc::kRefused || ec == Errc::kTooLarge || ec == Errc::kNotSerialized;
}

}  // namespace

http::Response MakeError(ErrorCode ec, bool changed) {
  if (!changed || IsFinal(ec)) return MakeError(ec);
  return http::MakeError(
      504,
      fmt::format("the change was not confirmed: {}; it may have taken effect, or may yet take "
                  "effect",
                  ec.message()),
      "read the current state, or repeat the request");
}

}  // namespace stout::docstore
