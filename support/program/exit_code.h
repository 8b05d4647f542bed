#pragma once

namespace stout::program {

/// The exit codes that programs share. A program may add codes of its own from 3 on.
enum ExitCode : int {
  kOk = 0,
  kFailed = 1,
  kBadOptions = 2,
  kInterrupted = 130,  ///< SIGINT or SIGTERM ended the program in order.
};

}  // namespace stout::program
