#pragma once

#include <string_view>

namespace stout::blowfish {

/// The reply to a command at which a shard threw the exception that is being handled: it is called
/// in a handler. What the reply does not tell, the server's log does.
[[nodiscard]] std::string_view ErrorOfException();

}  // namespace stout::blowfish
