#pragma once

#include <cstdio>

#include "load_options.h"

namespace stout::blowfish {

/// blowfish-load, but for its command line: loads the files in their order and prints what happens
/// to `err`, the summary to `out`.
///
/// The first SIGINT or SIGTERM ends the reading, and what is under way is waited for; the second
/// ends all at once. The summary tells how many lines need not be loaded again.
///
/// Threads: the caller's, until the end. It handles these two signals meanwhile.
[[nodiscard]] ExitCode RunLoad(const LoadOptions& options, std::FILE* out, std::FILE* err);

}  // namespace stout::blowfish
