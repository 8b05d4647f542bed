#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "blowfish/index/key_directory_writer.h"
#include "stout/error.h"

namespace stout::blowfish {

// How the file of a store fails, of records or of texts: the same words for both.

/// kCorrupt: a file whose checksums are right, and which is none that a writer published.
[[nodiscard]] ErrorCode FailMisfit(const std::string& path, Diagnostics* diagnostics);

/// kTransient: what writes it was asked to stop.
[[nodiscard]] ErrorCode FailStopped(const std::string& path, Diagnostics* diagnostics);

/// The keys of a file to be written. kBadOptions: they did not come in order.
[[nodiscard]] Result<std::vector<std::byte>> FinishKeys(KeyDirectoryWriter& keys,
                                                        const std::string& path,
                                                        Diagnostics* diagnostics);

}  // namespace stout::blowfish
