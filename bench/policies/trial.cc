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

#include "policies/app_server.h"
#include "stout/adapters/open_store.h"

namespace stout::bench {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

constexpr double kMillisecond = 1e6;  // ns

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
      const ServerSpec server{.id = i,
                              .documents = std::max<std::size_t>(spec.documents / spec.servers, 1),
                              .value_bytes = spec.value_bytes,
                              .rate = spec.rate / static_cast<double>(spec.servers),
                              .seed = seeds.Next() | 1,
                              .step = spec.step,
                              .slice = spec.slice};
      servers_.push_back(
          std::make_unique<AppServer>(context.get_executor(), store, policy, server, interrupted));
    }
  }

  void Open() {
    ForEach([](AppServer& server) { return server.Open(); });
  }

  void Run(const TrialSpec& spec) {
    Schedule schedule;
    schedule.start = steady_clock::now() + kHeadStart;
    schedule.from = schedule.start + spec.warmup;
    schedule.to = schedule.from + spec.measure;
    schedule.give_up = schedule.to + spec.patience;
    ForEach([&](AppServer& server) { return server.Run(schedule); });
  }

  [[nodiscard]] TrialResult Collect(Duration measured) const;
  /// The slices that were over after `length`.
  [[nodiscard]] std::vector<TrialSlice> Timeline(Duration slice, Duration length) const;

 private:
  // Runs a coroutine on each server until all have ended; throws what the first one threw.
  template <typename Start>
  void ForEach(Start start) {
    std::size_t left = servers_.size();
    std::exception_ptr trouble;
    for (const auto& server : servers_) {
      asio::co_spawn(server->get_executor(), start(*server), [&](std::exception_ptr thrown) {
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
};

TrialResult Fleet::Collect(Duration measured) const {
  TrialResult result;
  auto latency = std::make_unique<Histogram>();  // of 15 KiB each
  auto lateness = std::make_unique<Histogram>();
  Trend trend;
  Totals totals;
  JainIndex jain_latency;
  JainIndex jain_throughput;
  std::uint64_t answered = 0;
  for (const auto& server : servers_) {
    const ServerRecord& record = server->record();
    result.offered += record.offered;
    result.failed += record.failed;
    result.unanswered += record.unanswered;
    answered += record.answered_in_time;
    latency->Merge(record.latency);
    lateness->Merge(record.lateness);
    trend.Merge(record.trend);
    totals += record.totals;
    if (record.latency.count() > 0) jain_latency.Add(record.latency.Mean());
    jain_throughput.Add(static_cast<double>(record.answered_in_time));
  }
  const double seconds = std::chrono::duration<double>(measured).count();
  result.measured_s = seconds;
  const auto quantile = [&](double q) {
    return static_cast<double>(latency->Quantile(q)) / kMillisecond;
  };
  result.offered_per_s = static_cast<double>(result.offered) / seconds;
  result.answered_per_s = static_cast<double>(answered) / seconds;
  result.mean_ms = latency->Mean() / kMillisecond;
  result.p50_ms = quantile(0.5);
  result.p99_ms = quantile(0.99);
  result.p999_ms = quantile(0.999);
  result.max_ms = quantile(1);
  result.growth = trend.Slope();
  result.lateness_p99_ms = static_cast<double>(lateness->Quantile(0.99)) / kMillisecond;
  result.jain_latency = jain_latency.Value();
  result.jain_throughput = jain_throughput.Value();
  if (totals.batches > 0) {
    const auto batches = static_cast<double>(totals.batches);
    result.batch_items = static_cast<double>(totals.writes) / batches;
    result.interval_ms = seconds * 1000 * static_cast<double>(servers_.size()) / batches;
    result.collapse_ratio =
        static_cast<double>(totals.changes) / static_cast<double>(totals.writes);
  }
  return result;
}

std::vector<TrialSlice> Fleet::Timeline(Duration slice, Duration length) const {
  std::vector<TrialSlice> timeline(static_cast<std::size_t>(length / slice));
  const double slice_s = std::chrono::duration<double>(slice).count();
  for (std::size_t i = 0; i < timeline.size(); ++i) {
    Slice sum;
    for (const auto& server : servers_) {
      if (i >= server->record().slices.size()) continue;
      const Slice& own = server->record().slices[i];
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

bool TrialResult::Sustained(Duration bound) const {
  const double bound_ms = std::chrono::duration<double, std::milli>(bound).count();
  const double max_growth = kMaxGrowth + kSwing * mean_ms / 1000 / measured_s;
  return failed == 0 && unanswered == 0 && p99_ms <= bound_ms && growth <= max_growth;
}

TrialResult RunTrial(const TrialSpec& spec, const Policy& policy,
                     const std::atomic<bool>& interrupted) {
  // Destroyed in reverse: the servers, the store, which ends its calls, then what runs its timers.
  asio::io_context context(1);
  asio::thread_pool store_thread(1);
  const std::unique_ptr<Store> store = Open(spec.store_url, store_thread.get_executor());
  const EngineOptions options{.lane = {.write_policy = policy}};
  if (const auto trouble = Interposer::Check(options, store->traits())) {
    throw std::runtime_error(fmt::format("{}: {}", spec.store_url, *trouble));
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
