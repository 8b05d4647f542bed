#pragma once

#include <string_view>

#include "http/message.h"
#include "stout/error.h"

namespace stout::docstore {

/// What a client is told when libstout could not do what it asked for.
[[nodiscard]] http::Response MakeError(ErrorCode ec);

/// The field of a response that says: nothing was done, because this range of documents is not
/// served here (now). Routers then know that the request may be sent again, to whoever owns the
/// range by then, whatever it was.
inline constexpr std::string_view kUnservedRange = "Docstore-Unserved-Range";

}  // namespace stout::docstore
