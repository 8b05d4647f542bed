#pragma once

#include <atomic>
#include <string>

#include "policies/trial.h"

namespace stout::bench {

/// As RunTrial, with a process of `server_program`, a docstore-server, for each application server,
/// and their users on the calling thread. A trial's servers are new, and are killed at its end, so
/// that no trial inherits another's queue; the documents stay in the store. There is no timeline:
/// the processes count their batches themselves.
/// Throws std::runtime_error if a server does not start; it has said on stderr why.
[[nodiscard]] TrialResult RunFleetTrial(const std::string& server_program, const TrialSpec& spec,
                                        const Policy& policy, const std::atomic<bool>& interrupted);

}  // namespace stout::bench
