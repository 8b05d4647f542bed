#pragma once

#include <vector>

#include "node/limits.h"
#include "node/request.h"

namespace stout::node {

/// Removes the requests that were carried out. Those that were not, but are followed by one that
/// was, are answered with an error, because a repetition would be out of order.
void KeepDisplaced(std::vector<Request*>& requests);

/// Forgets what a former attempt has found, and gives back the room that its reply has taken.
void Reset(Request& request, ReplyRoom& room);

}  // namespace stout::node
