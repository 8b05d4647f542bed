// fleet-bench: policy-bench, whose application servers are docstore-server processes.

#include <atomic>
#include <filesystem>
#include <string>

#include "fleet/fleet_trial.h"
#include "policies/run_bench.h"

int main(int argc, char** argv) {
  using namespace stout;
  // The server that knows all policies is built beside this program.
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string server = self.parent_path() / "docstore-server-opponents";
  const auto run_trial = [&](const bench::TrialSpec& spec, const Policy& policy,
                             const std::atomic<bool>& interrupted) {
    return bench::RunFleetTrial(server, spec, policy, interrupted);
  };
  return bench::RunBench(argc, argv, {"fleet-bench", run_trial});
}
