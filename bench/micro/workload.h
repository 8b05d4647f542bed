#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stout::bench {

/// The keys and the value that every benchmark of a run shares: "document/0000042" and 256 bytes,
/// the size of the documents in the paper's evaluation. Made once for each number of keys.
const std::vector<std::string>& Keys(std::size_t count);
const std::string& Value();

/// A fixed, random order in which to use `count` keys; longer than any cache remembers.
const std::vector<std::uint32_t>& Order(std::size_t count);

/// Calls of operator new so far, in all threads.
std::uint64_t Allocations();

}  // namespace stout::bench
