#pragma once

#include <cstddef>
#include <string>

#include "stout/error.h"

namespace stout::blowfish {

/// The name of the file in its shard's directory that keeps the number of the shard's layers.
///
///     layers 3
///     checksum 5f9a0b2c7d1e8346
///
/// The checksum is of all bytes above its line. Readers ignore lines between the two.
///
/// The file is a hint: without it a shard is slower for a while. So it is not synced, and a change
/// of layers does not wait for the disk. It survives the end of the process. A crash of the machine
/// may leave it old, torn or missing.
inline constexpr const char* kLayersName = "layers";

/// Returns 0 if the file is missing, unreadable, damaged, or of a version that this one cannot
/// read.
[[nodiscard]] std::size_t ReadLayers(const std::string& directory);

/// Replaces the number. Errors: FailedCall's.
[[nodiscard]] ErrorCode WriteLayers(const std::string& directory, std::size_t layers,
                                    Diagnostics* diagnostics = nullptr);

}  // namespace stout::blowfish
