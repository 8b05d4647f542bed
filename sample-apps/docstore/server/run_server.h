#pragma once

#include "server/policy_language.h"

namespace stout::docstore {

/// `docstore-server` as a whole: reads the command line and serves until a signal ends it. Answers
/// the exit code. `policies`: what its --policy and --read-policy read.
int RunServer(int argc, const char* const* argv, const PolicyLanguage& policies = {});

}  // namespace stout::docstore
