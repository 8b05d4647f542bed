#pragma once

#include "stout/store.h"

namespace stout::monitor {

/// Logs what the user of a program has to expect of a store that lacks durability, fences or
/// stamps.
void WarnAboutStore(const StoreTraits& traits);

}  // namespace stout::monitor
