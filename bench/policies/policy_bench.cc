// policy-bench: batching policies side by side on real stores, all servers in this process.

#include "policies/run_bench.h"
#include "policies/trial.h"

int main(int argc, char** argv) {
  return stout::bench::RunBench(argc, argv, {"policy-bench", stout::bench::RunTrial});
}
