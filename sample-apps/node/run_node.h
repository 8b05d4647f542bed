#pragma once

namespace stout::node {

/// The program `stout-node`. Returns its exit code.
int RunNode(int argc, const char* const* argv);

}  // namespace stout::node
