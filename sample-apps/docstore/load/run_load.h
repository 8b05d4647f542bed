#pragma once

namespace stout::load {

/// The program `docstore-load`. Returns its exit code.
int RunLoad(int argc, const char* const* argv);

}  // namespace stout::load
