#pragma once

#include <string>
#include <string_view>

#include "stout/error.h"

namespace stout::blowfish {

/// Returns the error code for a system call that could not `verb` the file at `path` and left
/// `error` in errno. It is kBadUrl if the path is wrong, otherwise kTransient, for example if the
/// disk is full. The diagnostics have the problem and the remedy:
///
///     /data/7.shard: cannot write: No space left on device; make room on its disk
[[nodiscard]] ErrorCode FailedCall(const std::string& path, std::string_view verb, int error,
                                   Diagnostics* diagnostics);

}  // namespace stout::blowfish
