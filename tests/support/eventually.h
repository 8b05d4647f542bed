#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace stout::test {

// Asks again and again until `condition` holds. False: it did not for `patience`, which is long,
// for a machine may be busy with more than this test. The pauses grow with the time that has
// passed, from 5 ms to 25 ms, because each question takes time from the programs that it waits for.
// They are real programs, which tell nobody when the condition holds, so this has to sleep.
template <typename Condition>
[[nodiscard]] bool Eventually(
    Condition condition, std::chrono::steady_clock::duration patience = std::chrono::seconds(60)) {
  using std::chrono::milliseconds;
  const auto start = std::chrono::steady_clock::now();
  while (!condition()) {
    const std::chrono::steady_clock::duration passed = std::chrono::steady_clock::now() - start;
    if (passed > patience) return false;
    std::this_thread::sleep_for(std::clamp<std::chrono::steady_clock::duration>(
        passed / 20, milliseconds(5), milliseconds(25)));
  }
  return true;
}

}  // namespace stout::test
