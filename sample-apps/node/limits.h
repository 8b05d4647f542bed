#pragma once

#include <cstddef>

namespace stout::node {

/// Limits of what commands may make.
struct Limits {
  std::size_t max_value;    ///< bytes
  std::size_t max_replies;  ///< bytes of values in the replies to the commands of one range
};

}  // namespace stout::node
