#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "world/event.h"
#include "world/server_pool.h"
#include "world/service.h"

namespace stout::sim::internal {

/// A log whose syncs are shared: a commit takes all jobs that wait when it begins, and costs one
/// sync and the sum of their costs. An idle log begins with the first job that comes.
class CommitLog {
 public:
  /// Its kServed events have the number `server`. `queue_limit` jobs may wait; 0: any number.
  /// `works`: a commit is work of a server of the store.
  CommitLog(std::uint32_t server, double sync_ns, std::uint64_t queue_limit, bool works,
            Service& service, Agenda& agenda)
      : server_(server),
        sync_ns_(sync_ns),
        queue_limit_(queue_limit),
        works_(works),
        service_(service),
        agenda_(agenda) {}

  /// Commits the job now or later; false if too many wait and the job is dropped.
  [[nodiscard]] bool Offer(Job job, TimePoint now) {
    if (queue_limit_ > 0 && waiting_.size() >= queue_limit_) return false;
    waiting_.push_back(job);
    if (committing_.empty()) Commit(now);
    return true;
  }

  /// The kServed event has come. Calls `done` with each job of the commit that has ended; with none
  /// if a pause made it longer.
  template <typename Done>
  void Served(TimePoint now, const Done& done) {
    if (const Duration stalled = std::exchange(stalled_, {}); stalled > Duration::zero()) {
      agenda_.Push(now + stalled, {Event::Kind::kServed, server_});
      return;
    }
    for (const Job& job : committing_) done(job);
    committing_.clear();
    if (!waiting_.empty()) Commit(now);
  }

  /// Lengthens the commit under way by this time.
  void Stall(Duration length) {
    if (!committing_.empty()) stalled_ += length;
  }

 private:
  void Commit(TimePoint now) {
    committing_.swap(waiting_);
    double cost = sync_ns_;
    for (const Job& job : committing_) cost += job.cost_ns;
    agenda_.Push(works_ ? service_.Begin(cost, now) : service_.End(cost, now),
                 {Event::Kind::kServed, server_});
  }

  std::uint32_t server_;
  double sync_ns_;
  std::uint64_t queue_limit_;
  bool works_;
  Service& service_;
  Agenda& agenda_;
  std::vector<Job> waiting_;
  std::vector<Job> committing_;
  Duration stalled_{};  // since the commit began
};

}  // namespace stout::sim::internal
