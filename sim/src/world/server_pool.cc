#include "world/server_pool.h"

#include <utility>

namespace stout::sim::internal {

ServerPool::ServerPool(std::uint32_t first, std::uint32_t servers, std::uint64_t queue_limit,
                       Service& service, Agenda& agenda)
    : first_(first),
      queue_limit_(queue_limit),
      service_(service),
      agenda_(agenda),
      servers_(servers) {
  for (std::uint32_t i = servers; i > 0; --i) idle_.push_back(i - 1);
}

bool ServerPool::Offer(Job job, TimePoint now) {
  if (idle_.empty() && queue_limit_ > 0 && queue_.size() >= queue_limit_) return false;
  Add(job, now);
  return true;
}

void ServerPool::Add(Job job, TimePoint now) {
  if (idle_.empty()) return queue_.push_back(job);
  const std::uint32_t index = idle_.back();
  idle_.pop_back();
  Begin(index, job, now);
}

void ServerPool::Begin(std::uint32_t index, Job job, TimePoint now) {
  servers_[index] = {.job = job, .busy = true};
  agenda_.Push(service_.Begin(job.cost_ns, now), {Event::Kind::kServed, first_ + index});
}

std::optional<Job> ServerPool::Served(std::uint32_t server, TimePoint now) {
  const std::uint32_t index = server - first_;
  Server& done = servers_[index];
  if (const Duration stalled = std::exchange(done.stalled, {}); stalled > Duration::zero()) {
    agenda_.Push(now + stalled, {Event::Kind::kServed, server});
    return std::nullopt;
  }
  const Job job = done.job;
  if (queue_.empty()) {
    done.busy = false;
    idle_.push_back(index);
  } else {
    Begin(index, queue_.front(), now);
    queue_.pop_front();
  }
  return job;
}

void ServerPool::Stall(Duration length) {
  for (Server& server : servers_) {
    if (server.busy) server.stalled += length;
  }
}

}  // namespace stout::sim::internal
