#pragma once

#include <string>
#include <string_view>

// Threads: any.   Errors: cannot fail. A text that is no URL counts as one with an unknown scheme.

namespace stout {

/// Returns the name of a datalet that all nodes reach by its URL, if no name is given.
[[nodiscard]] std::string DataletIdOf(const std::string& url);

/// Returns true if no other process can use the store of this URL while one has it open.
[[nodiscard]] bool IsEmbedded(std::string_view url);

/// Returns true if the store of this URL is the datalet of a node, which brings it by itself.
[[nodiscard]] bool IsOfNode(std::string_view url);

}  // namespace stout
