#include "fleet/fleet_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <cmath>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "fleet/remote_server.h"
#include "fleet/server_process.h"
#include "load/value_body.h"
#include "stout/core/random.h"

namespace stout::bench {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::steady_clock;

/// Connections of the whole fleet. At 256 requests on each, the requests in flight at an overload
/// fit.
constexpr std::size_t kConnections = 128;
/// Time for every server to begin with the load at once, connections included.
constexpr std::chrono::milliseconds kHeadStart{50};

Totals Scaled(const Totals& totals, double factor) {
  const auto scaled = [factor](std::uint64_t count) {
    return static_cast<std::uint64_t>(std::llround(static_cast<double>(count) * factor));
  };
  return {scaled(totals.changes), scaled(totals.writes), scaled(totals.batches)};
}

/// One server, its users, and what its own counters say of the measured time.
class Member {
 public:
  // `number`: this server's index, in [0, servers). The servers share the store, and each owns the
  // scope of its number.
  Member(const std::string& program, const TrialSpec& spec, const Policy& policy,
         std::size_t number)
      : process_(program, {"--store", spec.store_url, "--scope", fmt::format("fleet/{}", number),
                           "--policy", policy.Name(), "--listen", "127.0.0.1:0", "--threads", "1",
                           "--cache-bytes", "64MiB", "--log-level", "error"}) {}

  /// Waits until the server serves; its users come with Run. Both are called once.
  void Connect(asio::io_context& context, RemoteServer::Range documents, const TrialSpec& spec,
               std::uint64_t seed, const std::atomic<bool>& interrupted) {
    endpoint_ = process_.WaitUntilListening(interrupted);
    server_ = std::make_unique<RemoteServer>(context, endpoint_, documents, spec.value_bytes,
                                             std::max<std::size_t>(kConnections / spec.servers, 1));
    const LoadSpec load{.documents = documents.count,
                        .rate = spec.rate / static_cast<double>(spec.servers),
                        .seed = seed,
                        .step = spec.step};
    users_ = std::make_unique<OpenLoop>(*server_, context.get_executor(), load, interrupted);
  }

  asio::awaitable<void> Offer(Schedule schedule) { co_await users_->Run(schedule); }

  asio::awaitable<void> Count(Schedule schedule) try {
    asio::steady_timer timer(co_await asio::this_coro::executor, schedule.from);
    co_await timer.async_wait(asio::use_awaitable);
    const Totals before = co_await FetchTotals(endpoint_);
    const auto began = steady_clock::now();
    timer.expires_at(schedule.to);
    co_await timer.async_wait(asio::use_awaitable);
    const Totals after = co_await FetchTotals(endpoint_);
    // A busy server answers late.
    const std::chrono::duration<double> counted = steady_clock::now() - began;
    totals_ = Scaled(after - before, (schedule.to - schedule.from) / counted);
  } catch (const boost::system::system_error&) {
    // Without its counters, what its users saw of it counts all the same.
  }

  [[nodiscard]] ServerRecord Record() const {
    ServerRecord record = users_->record();
    record.totals = totals_;
    return record;
  }

 private:
  ServerProcess process_;
  tcp::endpoint endpoint_;
  std::unique_ptr<RemoteServer> server_;
  std::unique_ptr<OpenLoop> users_;
  Totals totals_;
};

using Fleet = std::vector<std::unique_ptr<Member>>;

// All start at once; then each is waited for.
Fleet StartFleet(const std::string& program, const TrialSpec& spec, const Policy& policy,
                 asio::io_context& context, const std::atomic<bool>& interrupted) {
  Fleet fleet;
  for (std::size_t i = 0; i < spec.servers; ++i) {
    fleet.push_back(std::make_unique<Member>(program, spec, policy, i));
  }
  const auto share =
      static_cast<std::uint32_t>(std::max<std::size_t>(spec.documents / spec.servers, 1));
  SplitMix64 seeds(spec.seed);
  RemoteServer::Range documents{.first = 0, .count = share};
  for (const auto& member : fleet) {
    member->Connect(context, documents, spec, seeds.Next() | 1, interrupted);
    documents.first += share;
  }
  return fleet;
}

void RunLoad(const Fleet& fleet, const Schedule& schedule, asio::io_context& context) {
  std::size_t left = 2 * fleet.size();
  const auto done = [&](std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(thrown);  // out of run()
    if (--left == 0) context.stop();             // connections would read on
  };
  for (const auto& member : fleet) {
    asio::co_spawn(context, member->Offer(schedule), done);
    asio::co_spawn(context, member->Count(schedule), done);
  }
  context.run();
}

TrialResult Measure(const std::string& server_program, const TrialSpec& spec, const Policy& policy,
                    const std::atomic<bool>& interrupted) {
  asio::io_context context(1);
  const Fleet fleet = StartFleet(server_program, spec, policy, context, interrupted);
  Schedule schedule;
  schedule.start = steady_clock::now() + kHeadStart;
  schedule.from = schedule.start + spec.warmup;
  schedule.to = schedule.from + spec.measure;
  schedule.give_up = schedule.to + spec.patience;
  RunLoad(fleet, schedule, context);

  std::vector<ServerRecord> records;
  for (const auto& member : fleet) records.push_back(member->Record());
  std::vector<const ServerRecord*> pointers;
  pointers.reserve(records.size());
  for (const ServerRecord& record : records) pointers.push_back(&record);
  return Summarize(pointers, spec.measure);
}

}  // namespace

TrialResult RunFleetTrial(const std::string& server_program, const TrialSpec& spec,
                          const Policy& policy, const std::atomic<bool>& interrupted) {
  if (spec.value_bytes < load::kBodyHeaderBytes) {
    throw std::runtime_error(
        fmt::format("--value-bytes: at least {} are needed", load::kBodyHeaderBytes));
  }
  if (spec.slice > Duration::zero()) throw std::runtime_error("--slice: a fleet has no timeline");
  try {
    return Measure(server_program, spec, policy, interrupted);
  } catch (const std::runtime_error&) {
    if (interrupted) return {};  // before the fleet was up
    throw;
  }
}

}  // namespace stout::bench
