#include "policies/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <exception>
#include <memory>
#include <stdexcept>
#include <vector>

#include "load/app_server.h"
#include "stout/adapters/open_store.h"
#include "stout/adapters/store_url.h"

namespace stout::bench {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

/// Time for every server to begin with the load at once.
constexpr std::chrono::milliseconds kHeadStart{5};

std::unique_ptr<Store> Open(const std::string& url, const asio::any_io_executor& executor) {
  Diagnostics why;
  Result<std::unique_ptr<Store>> store = OpenStore(url, executor, &why);
  if (!store) throw std::runtime_error(why.message);
  return std::move(*store);
}

/// The servers of one trial, on a context that the caller's thread runs.
class Fleet {
 public:
  Fleet(const TrialSpec& spec, Store& store, const Policy& policy, asio::io_context& context,
        const std::atomic<bool>& interrupted)
      : context_(context) {
    SplitMix64 seeds(spec.seed);
    for (std::size_t i = 0; i < spec.servers; ++i) {
      const LoadSpec load{.documents = std::max<std::size_t>(spec.documents / spec.servers, 1),
                          .rate = spec.rate / static_cast<double>(spec.servers),
                          .seed = seeds.Next() | 1,
                          .step = spec.step,
                          .slice = spec.slice};
      servers_.push_back(std::make_unique<AppServer>(
          context.get_executor(), store, policy,
          Documents(i, load.documents, spec.value_bytes, load.seed), load.seed));
      users_.push_back(std::make_unique<OpenLoop>(*servers_.back(), servers_.back()->get_executor(),
                                                  load, interrupted));
    }
  }

  void Open() {
    ForEach([this](std::size_t i) { return servers_[i]->Open(); });
  }

  void Run(const TrialSpec& spec) {
    Schedule schedule;
    schedule.start = steady_clock::now() + kHeadStart;
    schedule.from = schedule.start + spec.warmup;
    schedule.to = schedule.from + spec.measure;
    schedule.give_up = schedule.to + spec.patience;
    ForEach([&](std::size_t i) { return users_[i]->Run(schedule); });
  }

  [[nodiscard]] TrialResult Collect(Duration measured) const;
  /// The slices that were over after `length`.
  [[nodiscard]] std::vector<TrialSlice> Timeline(Duration slice, Duration length) const;

 private:
  // Runs a coroutine for each server, on its executor, until all have ended; throws what the first
  // one threw.
  template <typename Start>
  void ForEach(Start start) {
    std::size_t left = servers_.size();
    std::exception_ptr trouble;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      asio::co_spawn(servers_[i]->get_executor(), start(i), [&](std::exception_ptr thrown) {
        if (thrown && !trouble) trouble = thrown;
        // Batches on their way to a slow store would keep run() busy for long.
        if (--left == 0) context_.stop();
      });
    }
    context_.restart();
    context_.run();
    if (trouble) std::rethrow_exception(trouble);
  }

  asio::io_context& context_;
  std::vector<std::unique_ptr<AppServer>> servers_;
  std::vector<std::unique_ptr<OpenLoop>> users_;  // of each server
};

TrialResult Fleet::Collect(Duration measured) const {
  std::vector<const ServerRecord*> records;
  records.reserve(users_.size());
  for (const auto& users : users_) records.push_back(&users->record());
  return Summarize(records, measured);
}

std::vector<TrialSlice> Fleet::Timeline(Duration slice, Duration length) const {
  std::vector<TrialSlice> timeline(static_cast<std::size_t>(length / slice));
  const double slice_s = std::chrono::duration<double>(slice).count();
  for (std::size_t i = 0; i < timeline.size(); ++i) {
    Slice sum;
    for (const auto& users : users_) {
      if (i >= users->record().slices.size()) continue;
      const Slice& own = users->record().slices[i];
      sum.answered += own.answered;
      sum.latency_s += own.latency_s;
      sum.batches += own.batches;
    }
    timeline[i].at_s = static_cast<double>(i) * slice_s;
    if (sum.answered > 0) {
      timeline[i].mean_ms = 1000 * sum.latency_s / static_cast<double>(sum.answered);
    }
    if (sum.batches > 0) {
      timeline[i].interval_ms =
          1000 * slice_s * static_cast<double>(servers_.size()) / static_cast<double>(sum.batches);
    }
  }
  return timeline;
}

}  // namespace

TrialResult RunTrial(const TrialSpec& spec, const Policy& policy,
                     const std::atomic<bool>& interrupted) {
  // Destroyed in reverse: the servers, the store, which ends its calls, then what runs its timers.
  asio::io_context context(1);
  asio::thread_pool store_thread(1);
  const std::unique_ptr<Store> store = Open(spec.store_url, store_thread.get_executor());
  const EngineOptions options{.lane = {.write_policy = policy}};
  if (const auto trouble = Interposer::Check(options, store->traits())) {
    throw std::runtime_error(fmt::format("{}: {}", Redacted(spec.store_url), *trouble));
  }
  Fleet fleet(spec, *store, policy, context, interrupted);
  fleet.Open();
  fleet.Run(spec);
  TrialResult result = fleet.Collect(spec.measure);
  if (spec.slice > Duration::zero()) {
    result.timeline = fleet.Timeline(spec.slice, spec.warmup + spec.measure);
  }
  return result;
}

}  // namespace stout::bench
