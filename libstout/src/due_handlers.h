#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "stout/error.h"
#include "stout/unique_function.h"

namespace stout::internal {

/// A user's handler and its argument.
struct Due {
  UniqueFunction<void(ErrorCode)> reply;
  ErrorCode ec;
};

/// Runs the handlers that are due now. Handlers that they add, and those after a handler that
/// throws, stay in `due`. If any stay, calls `schedule()`.
template <typename Schedule>
void RunDue(std::vector<Due>& due, const Schedule& schedule) {
  struct Guard {
    std::vector<Due>& due;
    const Schedule& schedule;
    std::ptrdiff_t ran = 0;
    ~Guard() {
      due.erase(due.begin(), due.begin() + ran);
      if (!due.empty()) schedule();
    }
  } guard{due, schedule};
  for (const auto end = static_cast<std::ptrdiff_t>(due.size()); guard.ran < end;) {
    Due next = std::move(due[static_cast<std::size_t>(guard.ran++)]);
    next.reply(next.ec);
  }
}

}  // namespace stout::internal
