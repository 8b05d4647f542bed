#pragma once

#include <string_view>

#include "resp/reply.h"
#include "stout/core/errc.h"

namespace stout::resp {

// Of the greeting: the server will not have us, now or later (wrong password, no permission, no
// such database), while others pass (it loads its data, a script keeps it busy).
[[nodiscard]] bool RefusesUs(const Reply& error);

// Of a write that the server answered with an error, and so did not do: kTooLarge beyond a limit of
// its protocol, otherwise kTransient.
[[nodiscard]] Errc Classify(const Reply& error);

// An error without the arguments that it repeats, in whole or in part. AUTH's is the password:
// "ERR unknown command 'AUTH', with args beginning with: 'hunter2'".
[[nodiscard]] std::string_view WithoutArguments(std::string_view error);

}  // namespace stout::resp
