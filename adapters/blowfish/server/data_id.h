#pragma once

#include <string>

#include "stout/error.h"

namespace stout::blowfish {

/// Returns the identity of the data in a server's directory: 32 hexadecimal digits, drawn at random
/// and durable. A directory without one gets one. It stays with the data, also when the server is
/// started again. A directory that is restored from an old copy lacks writes: then remove the file
/// `data-id` from it, so that stores notice.
///
/// Errors: of the system.   Blocks.
[[nodiscard]] Result<std::string> OpenDataId(const std::string& directory,
                                             Diagnostics* diagnostics);

/// Makes the next OpenDataId draw another one.   Errors: of the system.
[[nodiscard]] ErrorCode RemoveDataId(const std::string& directory, Diagnostics* diagnostics);

}  // namespace stout::blowfish
