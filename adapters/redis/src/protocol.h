#pragma once

#include "resp/commands.h"
#include "resp/errors.h"
#include "resp/reply.h"

// The protocol, which is not only Redis's.
namespace stout::redis {

using resp::Commands;
using resp::Reply;

}  // namespace stout::redis
