#pragma once

#include <atomic>

namespace stout::bench {

/// The first Ctrl-C sets what is answered, so that a bench ends its trial and reports what there
/// is; a second one kills.
[[nodiscard]] const std::atomic<bool>& CatchInterrupts();

}  // namespace stout::bench
