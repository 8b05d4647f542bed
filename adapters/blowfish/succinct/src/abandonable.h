#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace stout::blowfish {

/// Calls (*work)(), which takes long and cannot be told to stop, for a caller that can: on a thread
/// of its own, which is left alone when `stop` asks for it. True: the call has ended. False: it
/// goes on, and keeps `work`, until it has, or the process has.
///
/// So `work` owns all that it touches, and does not throw.
/// Errors: std::system_error: there are no more threads.
template <typename Work>
[[nodiscard]] bool RunAbandonably(std::shared_ptr<Work> work, const std::stop_token& stop) {
  struct End {
    std::mutex mutex;
    std::condition_variable_any come;
    bool here = false;
  };
  const auto end = std::make_shared<End>();
  std::thread([work = std::move(work), end]() mutable {
    (*work)();
    work.reset();
    const std::lock_guard lock(end->mutex);
    end->here = true;
    end->come.notify_one();
  }).detach();
  std::unique_lock lock(end->mutex);
  return end->come.wait(lock, stop, [&] { return end->here; });
}

}  // namespace stout::blowfish
