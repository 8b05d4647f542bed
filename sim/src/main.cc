// stout-sim: see docs/SIMULATION.md.

#include "stout/sim/command_line.h"

int main(int argc, char** argv) { return stout::sim::RunCommandLine(argc, argv); }
