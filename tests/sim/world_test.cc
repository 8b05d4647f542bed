// Runs seeded worlds; see World for what is checked.
//
//     world_test                     as many seeds as CI runs
//     world_test --seed 42 --trace   one world, told event by event
//
// A violation prints the seed, all that follows from it and the command that replays it.
#include "tests/sim/world.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "tests/sim/world_options.h"

namespace {

using stout::sim::DeriveWorld;
using stout::sim::Describe;
using stout::sim::World;

struct Arguments {
  std::uint64_t first = 0;
  std::uint64_t seeds = 10'000;
  bool trace = false;
  bool expect_violation = false;  // of a mutant
};

constexpr std::string_view kUsage =
    "usage: world_test [--first N] [--seeds N] [--seed N] [--trace] [--expect-violation]\n"
    "  --first N --seeds N  runs the seeds N, N + 1, ...; by default 10000 from 0\n"
    "  --seed N             runs one seed\n"
    "  --trace              prints every event\n"
    "  --expect-violation   succeeds at the first violation, fails if there is none\n";

std::optional<Arguments> Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--trace") {
      arguments.trace = true;
    } else if (name == "--expect-violation") {
      arguments.expect_violation = true;
    } else if (i + 1 == argc) {
      return std::nullopt;
    } else {
      char* end = nullptr;
      const std::uint64_t number = std::strtoull(argv[++i], &end, 10);
      if (*end != '\0') return std::nullopt;
      if (name == "--first" || name == "--seed") arguments.first = number;
      if (name == "--seed") arguments.seeds = 1;
      if (name == "--seeds") arguments.seeds = number;
    }
  }
  return arguments;
}

/// Returns the violation, if any. Every 16th world runs twice, to prove that it follows its seed.
std::optional<std::string> RunSeed(std::uint64_t seed, bool trace, std::uint64_t& acknowledged) {
  World world(DeriveWorld(seed), trace);
  world.Run();
  acknowledged += world.acknowledged();
  if (world.verdict().failed()) return world.verdict().what();
  if (seed % 16 != 0) return std::nullopt;
  World again(DeriveWorld(seed), false);
  again.Run();
  if (again.digest() == world.digest()) return std::nullopt;
  return fmt::format("the digests of two runs differ: {:016x} and {:016x}", world.digest(),
                     again.digest());
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Arguments> arguments = Parse(argc, argv);
  if (!arguments) {
    fmt::print(stderr, "{}", kUsage);
    return 2;
  }
  const auto [first, seeds, trace, expect_violation] = *arguments;
  std::uint64_t acknowledged = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const std::optional<std::string> violation = RunSeed(seed, trace, acknowledged);
    if (!violation) continue;
    fmt::print("{}violation: {}\nreplay: {} --seed {} --trace\n", Describe(DeriveWorld(seed)),
               *violation, argv[0], seed);
    if (expect_violation) {
      fmt::print("caught by seed {}, as it should be\n", seed);
      return 0;
    }
    return 1;
  }
  if (expect_violation) {
    fmt::print("the mutant survived {} seeds: the checks do not bite\n", seeds);
    return 1;
  }
  fmt::print("All worlds passed ({} seeds from {}, {} acknowledged replies)\n", seeds, first,
             acknowledged);
  return 0;
}
