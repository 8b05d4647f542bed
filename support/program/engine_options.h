#pragma once

#include <string_view>

#include "program/options.h"
#include "stout/core/options.h"

namespace stout::program {

/// Adds the options of batches that all servers have: --max-delay, --max-batch-items,
/// --max-batch-bytes, --max-dirty-keys, --max-dirty-bytes, --reply-deadline and --attempt-timeout.
/// For the help text: `too_many` is what changes over a limit do, such as "get an error";
/// `too_late` is what a change does that is not durable by the deadline, such as "gets an error";
/// `share` is the part of these limits that a range has, if the program divides them.
void AddBatchingOptions(Options& options, EngineOptions& engine, std::string_view too_many,
                        std::string_view too_late, std::string_view share = {});

}  // namespace stout::program
