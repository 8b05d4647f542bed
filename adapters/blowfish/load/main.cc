// blowfish-load: brings delimited files into a server.

#include <cstdio>
#include <cstdlib>

#include "blowfish/load/load_options.h"
#include "blowfish/load/load_run.h"
#include "program/command_line.h"

int main(int argc, char** argv) {
  using namespace stout::blowfish;
  return stout::program::RunCommand(
      "blowfish-load",
      [&] { return ParseLoadOptions(argc, argv, std::getenv("BLOWFISH_PASSWORD")); },
      [](const LoadOptions& options) { return RunLoad(options, stdout, stderr); });
}
