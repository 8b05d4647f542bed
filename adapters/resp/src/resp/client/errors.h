#pragma once

#include <string_view>

#include "resp/client/reply.h"
#include "stout/core/errc.h"

namespace stout::resp {

// Returns true if an error is final. For the greeting: wrong password, no permission, no such
// database. Other errors pass: the server loads its data, or a script keeps it busy.
[[nodiscard]] bool RefusesUs(const Reply& error);

// Returns true if the server has no connection left for us. It says so before we ask.
[[nodiscard]] bool IsTooManyClients(const Reply& error);

// Returns the outcome of a write that the server answered with an error, and so did not execute:
// kTooLarge beyond a limit of its protocol, otherwise kTransient.
[[nodiscard]] Errc Classify(const Reply& error);

// An error without the arguments that it repeats, in whole or in part. AUTH's is the password:
// "ERR unknown command 'AUTH', with args beginning with: 'hunter2'".
[[nodiscard]] std::string_view WithoutArguments(std::string_view error);

}  // namespace stout::resp
