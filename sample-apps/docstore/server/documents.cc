#include "server/documents.h"

#include <fmt/format.h>

namespace stout::docstore {
namespace {

// The store, or this server, will never let the change take effect.
bool IsFinal(ErrorCode ec) {
  return ec == Errc::kRefused || ec == Errc::kTooLarge || ec == Errc::kNotSerialized;
}

}  // namespace

Response MakeError(ErrorCode ec, bool changed) {
  // kDeadline has words of its own, of the same meaning.
  if (!changed || IsFinal(ec) || ec == Errc::kDeadline) return MakeError(ec);
  return MakeError(504,
                   fmt::format("the change was not confirmed: {}; it may have taken effect, or yet "
                               "take effect",
                               ec.message()),
                   "read the current state, or repeat the request");
}

}  // namespace stout::docstore
