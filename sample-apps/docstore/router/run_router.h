#pragma once

namespace stout::docstore {

/// The program `docstore-router`. Returns its exit code.
int RunRouter(int argc, const char* const* argv);

}  // namespace stout::docstore
