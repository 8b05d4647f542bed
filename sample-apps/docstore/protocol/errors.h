#pragma once

#include "http/message.h"
#include "stout/error.h"

namespace stout::docstore {

/// Returns the answer to a request that failed with this error of libstout.
[[nodiscard]] http::Response MakeError(ErrorCode ec);

}  // namespace stout::docstore
