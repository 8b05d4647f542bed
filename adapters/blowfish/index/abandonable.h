#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace stout::blowfish {

/// Calls (*work)(), which takes long and cannot be told to stop, for a caller that can. The call
/// runs on a thread of its own, which is abandoned when `stop` asks for it. Returns true if the
/// call has ended. Otherwise it goes on, and keeps `work`, until it ends, or the process does.
///
/// So `work` owns all that it touches, and does not throw.
/// Errors: std::system_error if there are no more threads.
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
