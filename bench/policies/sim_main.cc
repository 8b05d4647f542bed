// stout-sim-opponents: stout-sim, with the laws of other systems among its policies.

#include "policies/opponents/opponents.h"
#include "stout/sim/command_line.h"

int main(int argc, char** argv) {
  return stout::sim::RunCommandLine(
      argc, argv,
      {.read_policy = stout::bench::MakeOpponent, .policy_syntax = stout::bench::OpponentSyntax()});
}
