#pragma once

#include <optional>

#include "http/message.h"
#include "stout/adapters/watched_store.h"
#include "stout/core/types.h"

/// \file
/// Pages that do not depend on the program.

namespace stout::monitor {

/// Makes the answer of GET /, which shows the answers of GET /history.
[[nodiscard]] http::Response MakeLivePage();

/// Returns the answer of GET /healthz if the store has been called for `limit` without a success.
/// Otherwise returns nullopt.
[[nodiscard]] std::optional<http::Response> StoreTrouble(const WatchedStore& store, Duration limit);

}  // namespace stout::monitor
