#pragma once

namespace stout::blowfish {

/// The program: its command line, its life, its exit code.
[[nodiscard]] int RunServer(int argc, const char* const* argv);

}  // namespace stout::blowfish
