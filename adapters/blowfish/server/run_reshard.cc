#include "blowfish/server/run_reshard.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <thread>

#include "blowfish/server/options.h"
#include "blowfish/server/reshard.h"
#include "program/command_line.h"
#include "program/options.h"
#include "program/tell.h"

namespace stout::blowfish {
namespace {

volatile std::sig_atomic_t stopped = 0;

// Tells of the progress each second, and whether to go on.
class Display {
 public:
  bool Show(const ReshardProgress& progress) {
    using Clock = std::chrono::steady_clock;
    if (Clock::now() - last_ >= std::chrono::seconds(1)) {
      last_ = Clock::now();
      program::Tell(stderr, "blowfish-server reshard: {} of {} keys\n", progress.keys,
                    progress.all);
    }
    return stopped == 0;
  }

 private:
  std::chrono::steady_clock::time_point last_;
};

}  // namespace

int RunReshard(int argc, const char* const* argv) {
  CLI::App app(
      "Changes the number of shards in the directory of a blowfish-server that is stopped.\n"
      "Copies all data to DIRECTORY.resharding, and then exchanges both directories. The old one "
      "stays as DIRECTORY.before-reshard until you remove it. If the command was stopped, the same "
      "command continues.",
      "blowfish-server reshard");
  ReshardOptions options;
  std::size_t merges = 0;
  program::Options given(app);
  given.Text("--dir", options.directory, "The directory of the shards", "DIRECTORY")
      ->required()
      ->check(CheckDirectory);
  given.Count("--shards", options.shards, 1, 1024, "The new number of shards")
      ->required()
      ->default_str("");
  given.Bytes("--memory-budget", options.memory.budget, 0,
              "Memory for changes and merges, of the old and of the new shards each");
  given.Count("--merges", merges, 1, 1024, "Maximum shards that are compressed at once")
      ->default_str("a quarter of the processors, 1 at least");
  if (const auto code = program::ReadArguments(app, argc, argv)) return *code;
  options.memory.merges =
      merges > 0 ? merges : std::max(1U, std::thread::hardware_concurrency() / 4);
  options.merge_slots = std::make_shared<MergeSlots>(options.memory.merges);
  // A second signal ends it at once: nothing is lost, because the command can be repeated.
  const auto stop = [](int signal) {
    stopped = 1;
    std::signal(signal, SIG_DFL);
  };
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, stop);
  Display display;
  Diagnostics why;
  try {
    const auto failed = Reshard(
        options, [&](const ReshardProgress& progress) { return display.Show(progress); }, &why);
    if (!failed) {
      fmt::print("{} has {} shards; remove {} when you need it no longer\n", options.directory,
                 options.shards, ShardsBefore(options.directory));
      return EXIT_SUCCESS;
    }
  } catch (const std::exception& error) {
    why.message = error.what();
  }
  program::Tell(stderr, "blowfish-server reshard: {}\n", why.message);
  return stopped ? 130 : EXIT_FAILURE;
}

}  // namespace stout::blowfish
