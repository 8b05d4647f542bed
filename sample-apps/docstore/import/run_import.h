#pragma once

namespace stout::docstore {

/// The program `docstore-import`. Returns its exit code.
int RunImport(int argc, const char* const* argv);

}  // namespace stout::docstore
