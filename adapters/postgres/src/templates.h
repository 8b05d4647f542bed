#pragma once

#include <string>
#include <string_view>

#include "stout/adapters/postgres_store.h"

namespace stout::postgres {

// Reads templates from text: each statement below a line that names it, "-- upsert", "-- remove",
// "-- select". Fails with what is wrong and what to write instead.
[[nodiscard]] Result<PostgresTemplates> ParseTemplates(std::string_view text, std::string* error);

// The same from a file, which the error names.
[[nodiscard]] Result<PostgresTemplates> ReadTemplates(const std::string& file, std::string* error);

}  // namespace stout::postgres
