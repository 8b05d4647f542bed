#pragma once

#include "stout/core/lease_table.h"
#include "stout/feed.h"

namespace stout::inline v1 {

/// Hands the newest table of a lease service to its watchers.
using LeaseFeed = Feed<LeaseTable>;

}  // namespace stout::inline v1
