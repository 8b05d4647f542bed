#pragma once

#include <string_view>

namespace stout::blowfish {

/// Returns the reply to a command for which a shard threw the exception that is being handled. Call
/// it in a handler. Details that the reply does not have are in the server's log.
[[nodiscard]] std::string_view ErrorOfException();

}  // namespace stout::blowfish
