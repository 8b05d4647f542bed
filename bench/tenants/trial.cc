#include "tenants/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "stout/core/random.h"

namespace stout::bench {
namespace {

using Clock = std::chrono::steady_clock;

// The clients of one tenant. A client may run on several threads, one after the other.
class Tenant {
 public:
  Tenant(const TenantLoad& load, TenantId id, SharedCache& cache)
      : load_(load), id_(id), cache_(cache), reader_(load.reads), random_(id + 1) {}
  // Waits for its clients, which run on other threads.
  ~Tenant() {
    stop_ = true;
    while (running_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  Tenant(const Tenant&) = delete;
  Tenant& operator=(const Tenant&) = delete;

  void Start() {
    running_ = load_.clients;
    for (std::size_t i = 0; i < load_.clients; ++i) ReadOne();
  }
  void Move() { base_ += load_.reads.keys; }
  void BeginToMeasure() {
    const std::lock_guard lock(mutex_);
    latencies_.clear();
    begin_ = Clock::now();
  }

  [[nodiscard]] std::uint64_t requests() const { return requests_; }
  [[nodiscard]] bool failed() const { return failed_; }

  [[nodiscard]] TenantResult Result() {
    const std::lock_guard lock(mutex_);
    TenantResult result{.name = load_.name, .requests = latencies_.size(), .stats = {}};
    const std::chrono::duration<double> time = Clock::now() - begin_;
    result.rate_per_s = static_cast<double>(latencies_.size()) / time.count();
    result.p50_us = Quantile(.5);
    result.p99_us = Quantile(.99);
    return result;
  }

 private:
  void ReadOne() {
    if (stop_) {
      --running_;
      return;
    }
    std::uint64_t key = 0;
    {
      const std::lock_guard lock(mutex_);
      key = load_.first_key + base_ + reader_.Next(random_);
    }
    cache_.Read(id_, KeyOf(key), [this, sent = Clock::now()](bool read) {
      const auto latency = Clock::now() - sent;
      failed_ = failed_ || !read;
      ++requests_;
      {
        const std::lock_guard lock(mutex_);
        latencies_.push_back(latency);
      }
      ReadOne();
    });
  }

  [[nodiscard]] double Quantile(double p) {
    if (latencies_.empty()) return 0;
    const auto at = latencies_.begin() +
                    static_cast<std::ptrdiff_t>(p * static_cast<double>(latencies_.size() - 1));
    std::nth_element(latencies_.begin(), at, latencies_.end());
    return std::chrono::duration<double, std::micro>(*at).count();
  }

  const TenantLoad load_;
  const TenantId id_;
  SharedCache& cache_;
  std::atomic<std::size_t> running_ = 0;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> failed_ = false;
  std::atomic<std::uint64_t> requests_ = 0;
  std::atomic<std::uint64_t> base_ = 0;

  std::mutex mutex_;  // for what follows
  sim::Reader reader_;
  SplitMix64 random_;
  std::vector<Clock::duration> latencies_;
  Clock::time_point begin_;
};

}  // namespace

std::string KeyOf(std::uint64_t number) { return fmt::format("key:{:012}", number); }

std::vector<TenantResult> Run(const Trial& trial, SharedCache& cache) {
  std::deque<Tenant> tenants;
  for (const TenantLoad& load : trial.tenants)
    tenants.emplace_back(load, static_cast<TenantId>(tenants.size()), cache);
  Tenant& first = tenants.front();
  const auto wait_until = [&](const auto& reached) {
    while (!reached()) {
      if (std::ranges::any_of(tenants, &Tenant::failed))
        throw std::runtime_error("a read has failed");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  const auto wait_for = [&](std::uint64_t requests) {
    wait_until([&] { return first.requests() >= requests; });
  };
  first.Start();
  wait_for(trial.warm);
  const std::uint64_t begin = first.requests();
  const auto sample_until = [&](std::uint64_t from, std::uint64_t to) {
    const std::uint64_t step = std::max<std::uint64_t>(1, trial.together / 100);
    for (std::uint64_t at = from; trial.sample && at < to; at += step) {
      wait_for(begin + at);
      trial.sample(at, cache.Stats());
    }
    wait_for(begin + to);
  };
  if (trial.move) first.Move();
  for (std::size_t t = 1; t < tenants.size(); ++t) tenants[t].Start();
  const std::uint64_t settled = trial.together - trial.measured;
  sample_until(0, settled);
  const auto before = cache.Stats();
  for (Tenant& tenant : tenants) tenant.BeginToMeasure();
  const auto measured_from = Clock::now();
  sample_until(settled, trial.together);
  wait_until([&] { return Clock::now() - measured_from >= trial.measured_for; });
  const auto after = cache.Stats();
  std::vector<TenantResult> results;
  for (std::size_t t = 0; t < tenants.size(); ++t) {
    TenantResult& result = results.emplace_back(tenants[t].Result());
    if (t >= after.size()) continue;
    result.stats = after[t];
    const TenantStats none;
    const TenantStats& from = t < before.size() ? before[t] : none;
    const auto hits = static_cast<double>(after[t].hits - from.hits);
    const auto misses = static_cast<double>(after[t].misses - from.misses);
    if (hits + misses > 0) result.hit_rate = hits / (hits + misses);
  }
  return results;
}

}  // namespace stout::bench
