#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "stout/core/types.h"

namespace stout::sim {

/// The agenda of a simulated world: events in order of time, and at one time in the order in which
/// they were pushed. So a run depends on its seed alone.
///
///     queue.Push(queue.now() + 5ms, event);
///     while (!queue.empty()) Handle(queue.Pop());   // now() moves with each
///
/// Owner: the world.   Threads: none of its own.
template <typename Event>
class EventQueue {
 public:
  /// The time of the event popped last.
  [[nodiscard]] TimePoint now() const { return now_; }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// The time of the next event; kNever if there is none.
  [[nodiscard]] TimePoint next() const { return heap_.empty() ? kNever : heap_.front().at; }

  /// An event in the past happens now.
  void Push(TimePoint at, Event event) {
    heap_.push_back({std::max(at, now_), ++pushed_, std::move(event)});
    std::push_heap(heap_.begin(), heap_.end(), Later);
  }

  /// Takes the next event and moves the time to it. Requires that there is one.
  Event Pop() {
    std::pop_heap(heap_.begin(), heap_.end(), Later);
    Entry entry = std::move(heap_.back());
    heap_.pop_back();
    now_ = entry.at;
    return std::move(entry.event);
  }

 private:
  struct Entry {
    TimePoint at;
    std::uint64_t sequence;
    Event event;
  };
  static bool Later(const Entry& a, const Entry& b) {
    return std::pair(a.at, a.sequence) > std::pair(b.at, b.sequence);
  }

  std::vector<Entry> heap_;
  TimePoint now_{};
  std::uint64_t pushed_ = 0;
};

}  // namespace stout::sim
