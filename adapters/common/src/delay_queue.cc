#include "stout/adapters/delay_queue.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace stout {

class DelayQueue::State : public std::enable_shared_from_this<State> {
 public:
  explicit State(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  void Schedule(Clock::time_point due, Task task) {
    const std::lock_guard lock(mutex_);
    heap_.push_back({due, next_sequence_++, std::move(task)});
    std::push_heap(heap_.begin(), heap_.end(), Later);
    if (heap_.front().sequence == next_sequence_ - 1) Arm();
  }

  void RunDue() {
    std::unique_lock lock(mutex_);
    if (running_) return;  // The thread that runs tasks arms the timer when it ends.
    RunUntil(&lock, [] { return Clock::now(); });
    Arm();
  }

  void Finish() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return !running_; });
    RunUntil(&lock, [] { return Clock::time_point::max(); });
    timer_.cancel();
  }

 private:
  struct Entry {
    Clock::time_point due;
    std::uint64_t sequence;
    Task task;
  };
  static bool Later(const Entry& a, const Entry& b) {
    return std::pair(a.due, a.sequence) > std::pair(b.due, b.sequence);
  }

  template <typename Now>
  void RunUntil(std::unique_lock<std::mutex>* lock, Now now) {
    running_ = true;
    while (!heap_.empty() && heap_.front().due <= now()) {
      std::pop_heap(heap_.begin(), heap_.end(), Later);
      Task task = std::move(heap_.back().task);
      heap_.pop_back();
      lock->unlock();
      task();
      task = Task();  // its captures are also released without the lock
      lock->lock();
    }
    running_ = false;
    idle_.notify_all();
  }

  // Asio's timers may be used from any thread, one at a time: mutex_ is held.
  void Arm() {
    if (running_ || heap_.empty()) return;
    timer_.expires_at(heap_.front().due);
    timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& ec) {
      if (ec) return;  // Re-armed for an earlier task, or finished.
      if (const std::shared_ptr<State> self = weak.lock()) self->RunDue();
    });
  }

  std::mutex mutex_;
  std::condition_variable idle_;
  std::vector<Entry> heap_;  // The earliest first.
  std::uint64_t next_sequence_ = 0;
  bool running_ = false;  // Some thread runs tasks, without the lock.
  boost::asio::steady_timer timer_;
};

DelayQueue::DelayQueue(const boost::asio::any_io_executor& executor)
    : state_(std::make_shared<State>(executor)) {}

DelayQueue::~DelayQueue() { state_->Finish(); }

void DelayQueue::Schedule(Clock::time_point due, Task task) {
  state_->Schedule(due, std::move(task));
}

void DelayQueue::Finish() { state_->Finish(); }

}  // namespace stout
