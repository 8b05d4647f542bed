#pragma once

#include <cstdio>

#include "blowfish/load/load_options.h"

namespace stout::blowfish {

/// blowfish-load without its command line. It loads the files in their order, prints events to
/// `err`, and the summary to `out`.
///
/// The first SIGINT or SIGTERM ends the reading, and the lines under way are waited for. The second
/// ends the waiting, too; the third kills the process. The summary has the number of lines that
/// need not be loaded again.
///
/// Threads: the caller's, until the end. It handles these two signals meanwhile.
[[nodiscard]] ExitCode RunLoad(const LoadOptions& options, std::FILE* out, std::FILE* err);

}  // namespace stout::blowfish
