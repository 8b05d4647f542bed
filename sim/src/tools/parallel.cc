#include "parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace stout::sim::internal {

void RunJobs(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& job,
             const std::function<void()>& watch) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::condition_variable all_done;
  std::size_t running = std::min<std::size_t>(std::max(threads, 1U), count);
  std::exception_ptr failure;
  std::vector<std::jthread> workers;
  // On every exit: waits for the jobs that have begun, and begins no further one.
  const auto no_more = [&](void*) { next = count; };
  const std::unique_ptr<void, decltype(no_more)> at_end(&next, no_more);
  const auto work = [&] {
    std::exception_ptr thrown;
    try {
      for (std::size_t mine = next++; mine < count; mine = next++) job(mine);
    } catch (...) {
      thrown = std::current_exception();
      next = count;
    }
    const std::scoped_lock lock(mutex);
    if (thrown) failure = std::move(thrown);
    if (--running == 0) all_done.notify_one();
  };
  for (std::size_t i = running; i > 0; --i) workers.emplace_back(work);
  std::unique_lock lock(mutex);
  while (!all_done.wait_for(lock, std::chrono::milliseconds(250), [&] { return running == 0; })) {
    lock.unlock();
    watch();
    lock.lock();
  }
  lock.unlock();
  watch();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace stout::sim::internal
