#pragma once

#include <chrono>
#include <thread>

namespace stout::test {

// Asks again and again until `condition` holds. False: it did not for `patience`, which is long,
// for a machine may be busy with more than this test.
template <typename Condition>
[[nodiscard]] bool Eventually(
    Condition condition, std::chrono::steady_clock::duration patience = std::chrono::seconds(60)) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace stout::test
