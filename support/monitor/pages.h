#pragma once

#include <optional>
#include <string_view>

#include "http/message.h"
#include "stout/adapters/watched_store.h"
#include "stout/core/types.h"
#include "stout/error.h"

/// \file
/// Pages that do not depend on the program.

namespace stout::monitor {

/// Makes the answer of GET /, which shows the answers of GET /history.
[[nodiscard]] http::Response MakeLivePage();

/// Returns the answer of GET /healthz if the store has been called for `limit` without a success,
/// or if it has lost changes (kLost). Otherwise returns nullopt.
[[nodiscard]] std::optional<http::Response> StoreTrouble(const WatchedStore& store, Duration limit);
/// The same for any stores that have been called in vain. `last`: the last error. `otherwise`: the
/// reason to show if there is none.
[[nodiscard]] std::optional<http::Response> StoreTrouble(std::string_view name, Duration in_vain,
                                                         Duration limit, ErrorCode last,
                                                         std::string_view otherwise);

}  // namespace stout::monitor
