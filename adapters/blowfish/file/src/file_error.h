#pragma once

#include <string>
#include <string_view>

#include "stout/error.h"

namespace stout::blowfish {

/// What to answer where a system call could not `verb` the file at `path` and left `error` in
/// errno: kBadUrl where the path is at fault, else kTransient, such as where there is no more room.
/// The diagnostics say what is wrong and how to mend it:
///
///     /data/7.shard: cannot write: No space left on device; make room on its disk
[[nodiscard]] ErrorCode FailedCall(const std::string& path, std::string_view verb, int error,
                                   Diagnostics* diagnostics);

}  // namespace stout::blowfish
