#pragma once

#include <string>
#include <string_view>

#include "layout.h"
#include "stout/adapters/hash_slot.h"

namespace stout::redis {

// Returns the slot of an application's key.
[[nodiscard]] Slot SlotOfKey(const Layout& layout, std::string_view key);

// The fence of a scope in a slot. A script sees one slot only, so that a scope has a fence in each.
[[nodiscard]] std::string FenceKeyIn(Slot slot, const Layout& layout, std::string_view scope);

}  // namespace stout::redis
