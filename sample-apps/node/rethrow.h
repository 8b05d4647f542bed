#pragma once

#include <exception>

namespace stout::node {

/// Completes a coroutine that nothing waits for. If it throws, the node ends, because the work that
/// it did for others is not done any more. With asio::detached they would wait for ever.
struct Rethrow {
  void operator()(const std::exception_ptr& thrown) const {
    if (thrown) std::rethrow_exception(thrown);
  }
};

}  // namespace stout::node
