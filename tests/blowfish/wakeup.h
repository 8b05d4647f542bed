#pragma once

#include <condition_variable>
#include <mutex>

namespace stout::blowfish::test {

// Tells one thread that there is something to do for it.
class Wakeup {
 public:
  void Wake() {
    const std::lock_guard lock(mutex_);
    awake_ = true;
    woken_.notify_one();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    woken_.wait(lock, [&] { return awake_; });
    awake_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable woken_;
  bool awake_ = false;
};

}  // namespace stout::blowfish::test
