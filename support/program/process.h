#pragma once

#include <cstddef>
#include <string>

namespace stout::program {

/// Sends what the program logs to stderr, under its name.
void SetUpLog(const std::string& name, const std::string& level);

/// Raises the limit of open files as far as it goes, and warns if that does not suffice for so many
/// connections: each needs a descriptor, and the usual soft limit is 1024.
void RaiseDescriptorLimit(std::size_t connections);

}  // namespace stout::program
