#include "server/documents.h"

#include <fmt/format.h>

namespace stout::docstore {

http::Response MakeError(ErrorCode ec, bool changed) {
  if (!changed) return MakeError(ec);
  return http::MakeError(
      504,
      fmt::format("the change was not confirmed: {}; it may have taken effect, or may yet take "
                  "effect",
                  ec.message()),
      "read the current state, or repeat the request");
}

}  // namespace stout::docstore
