#pragma once

#include "resp/client/commands.h"
#include "resp/client/errors.h"
#include "resp/client/reply.h"

// The protocol, which is not only Redis's.
namespace stout::redis {

using resp::Commands;
using resp::Reply;

}  // namespace stout::redis
