#pragma once

#include <deque>
#include <mutex>
#include <random>
#include <vector>

#include "stout/adapters/delay_queue.h"
#include "stout/adapters/faulty_store.h"

namespace stout {

// Decides what befalls a call, and keeps what happens later or never. Threads: any.
class FaultyStore::Faults {
 public:
  Faults(const boost::asio::any_io_executor& executor, FaultyOptions options)
      : options_(std::move(options)), random_(options_.seed), later_(executor) {}

  void ScriptWrite(Fault fault);
  void ScriptRead(Fault fault);

  [[nodiscard]] Fault NextWrite();
  [[nodiscard]] Fault NextRead();

  // The items that `fault` or the refusals keep from the store, sorted, and what they are told.
  [[nodiscard]] std::vector<ItemError> LeaveOut(const WriteBatch& batch, Fault fault);

  void RunLater(DelayQueue::Task task);

  // Keeps the handler of an answer that never comes.
  template <typename Handler>
  void Lose(Handler handler) {
    const std::lock_guard lock(mutex_);
    lost_.emplace_back([handler = std::move(handler)] {});
  }

  // Runs now what was to run later.
  void Finish() { later_.Finish(); }

 private:
  double Uniform() { return static_cast<double>(random_() >> 11) * 0x1.0p-53; }  // [0, 1)
  [[nodiscard]] Fault Next(std::deque<Fault>& scripted, const FaultRates& rates);
  [[nodiscard]] Fault Draw(const FaultRates& rates);

  std::mutex mutex_;
  FaultyOptions options_;
  std::mt19937_64 random_;
  std::deque<Fault> scripted_writes_;
  std::deque<Fault> scripted_reads_;
  bool store_lost_ = false;  // Fault::kLost has occurred.
  std::vector<UniqueFunction<void()>> lost_;
  DelayQueue later_;
};

}  // namespace stout
