#pragma once

#include <string>

#include "stout/adapters/store_url.h"

namespace stout::postgres {

// Returns libpq's connection string for a URL: its host, user and database, and the options of
// libpq. `reader` then knows these options.
[[nodiscard]] std::string ConnectionOf(const StoreUrl& url, UrlOptionReader& reader);

}  // namespace stout::postgres
