#pragma once

namespace stout::docstore {

/// Returns true if the same request may succeed later, after an answer with this status: the server
/// was busy or silent, or it died behind a router.
[[nodiscard]] inline bool MayPass(unsigned status) {
  return status == 408 || status == 502 || status == 503 || status == 504;
}

}  // namespace stout::docstore
