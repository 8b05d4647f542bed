#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "blowfish/file/index_file.h"

namespace stout::blowfish {

/// A part of what a store takes, for the account of its space.
struct Space {
  std::string name;
  std::uint64_t bytes = 0;
};

/// The parts of a file: each section, and "file", the bytes between them.
[[nodiscard]] std::vector<Space> SpaceOf(const IndexFile& file);

}  // namespace stout::blowfish
