#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace stout::test {

// Returns the size in bytes of the reply at the beginning of `bytes`, in RESP2 or RESP3, or nullopt
// if its end is not there yet.
[[nodiscard]] std::optional<std::size_t> ReplySize(std::string_view bytes);

// Returns the elements of an array, set, map or push. A key of a map and its value are two
// elements. Requires a whole reply of such a type. An array of null has none.
[[nodiscard]] std::vector<std::string_view> ElementsOf(std::string_view reply);

// Returns true for a reply of a type that has elements.
[[nodiscard]] bool HasElements(std::string_view reply);

}  // namespace stout::test
