#pragma once

#include <string>

#include "stout/adapters/store_url.h"

namespace stout::postgres {

// What libpq is told of a URL: its host, user and database, and those of its options that are
// libpq's, which the reader then knows.
[[nodiscard]] std::string ConnectionOf(const StoreUrl& url, UrlOptionReader& reader);

}  // namespace stout::postgres
