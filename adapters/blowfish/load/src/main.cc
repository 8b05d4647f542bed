// blowfish-load: brings delimited files into a server.

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <variant>

#include "load_options.h"
#include "load_run.h"

int main(int argc, char** argv) {
  using namespace stout::blowfish;
  try {
    const auto parsed = ParseLoadOptions(argc, argv, std::getenv("BLOWFISH_PASSWORD"));
    const auto* options = std::get_if<LoadOptions>(&parsed);
    if (options == nullptr) return static_cast<int>(std::get<ExitCode>(parsed));
    return static_cast<int>(RunLoad(*options, stdout, stderr));
  } catch (const std::exception& error) {
    fmt::print(stderr, "blowfish-load: {}\n", error.what());
    return static_cast<int>(ExitCode::kFailed);
  }
}
