#pragma once

namespace stout::blowfish {

/// `blowfish-server reshard`: argv[0] is "reshard". Returns the exit code.
[[nodiscard]] int RunReshard(int argc, const char* const* argv);

}  // namespace stout::blowfish
