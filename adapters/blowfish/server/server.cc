#include "blowfish/server/server.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <new>
#include <utility>

#include "stout/clock.h"

namespace stout::blowfish {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// Decisions of the navigation that INFO tells.
constexpr std::size_t kDecisionsKept = 16;

}  // namespace

Server::Server(asio::io_context& context, std::vector<std::unique_ptr<ShardWorker>> shards,
               ServerOptions options)
    : context_(context),
      options_(std::move(options)),
      service_(context.get_executor(), std::move(shards), options_.password),
      listener_(context, service_),
      tick_(context) {
  service_.memory_budget = options_.memory_budget;
  service_.limits = options_.connections;
  service_.tls = options_.tls;
  service_.batch_limits = BatchLimitsOf(service_.limits.commands);
  AddKeptLayers();
  for (const auto& shard : service_.shards) {
    shard->Start([](SubBatch& batch) { batch.batch->Done(); });
  }
}

// Shards and the thread of the disk may be at work for connections that never got their replies.
// These connections end before `service_`, whose thread of the disk uses their requests.
Server::~Server() {
  service_.disk.join();
  for (const auto& shard : service_.shards) shard->queue().Stop();  // All at a time.
  for (const auto& shard : service_.shards) shard->Stop();
}

ErrorCode Server::Listen(Diagnostics* diagnostics) {
  if (const ErrorCode failed = listener_.Listen(options_.host, options_.port, diagnostics))
    return failed;
  if (const ErrorCode failed = listener_.ListenLocal(options_.unix_socket, diagnostics))
    return failed;
  listener_.Start();
  asio::co_spawn(context_, Navigate(), asio::detached);
  return {};
}

void Server::Drain(UniqueFunction<void()> done) {
  draining_ = true;
  tick_.cancel();
  listener_.Drain(std::move(done));
}

// In turns, so that a smaller budget than before is shared by all.
void Server::AddKeptLayers() try {
  std::uint64_t used = 0;
  for (const auto& shard : service_.shards) used += shard->status().compressed_bytes;
  for (bool added = true; added;) {
    added = false;
    for (const auto& shard : service_.shards) {
      const ShardStatus before = shard->status();
      if (used + before.next_layer_bytes.front() > options_.memory_budget || !shard->AddKeptLayer())
        continue;
      used += shard->status().layer_bytes - before.layer_bytes;
      added = true;
    }
  }
} catch (const std::bad_alloc&) {
  spdlog::warn(
      "not enough memory for all layers that the shards had at the last end: shards start with "
      "fewer");
}

asio::awaitable<void> Server::Navigate() {
  const std::size_t count = service_.shards.size();
  Navigator navigator(options_.navigation, count, SteadyNow());
  std::vector<Duration> read_time(count);      // As of the look before.
  std::vector<std::uint64_t> answered(count);  // Likewise.
  std::vector<ShardState> states(count);
  TimePoint before = SteadyNow();
  while (!draining_) {
    tick_.expires_after(options_.navigation.interval);
    error_code cancelled;
    co_await tick_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    if (draining_) co_return;  // A short interval says nothing.
    try {
      const TimePoint now = SteadyNow();
      const double passed = static_cast<double>((now - before).count());
      std::uint64_t compressed = 0;
      for (std::size_t i = 0; i < count; ++i) {
        ShardWorker& shard = *service_.shards[i];
        const ShardStatus status = shard.status();
        const Duration read = std::max(shard.read_time().Total(now), read_time[i]);
        states[i] = {.reads = static_cast<double>((read - read_time[i]).count()) / passed,
                     .queue = shard.queue().waiting(),
                     .answered = shard.queue().answered() - answered[i],
                     .layers = status.layers,
                     .bytes = status.layer_bytes,
                     .next_bytes = status.next_layer_bytes,
                     .finest_bytes = status.finest_layer_bytes,
                     .filling = status.filling,
                     .moving = status.moves != shard.asked_moves()};
        read_time[i] = read;
        answered[i] += states[i].answered;
        compressed += status.compressed_bytes;
      }
      before = now;
      navigator.set_budget(options_.memory_budget - std::min(compressed, options_.memory_budget));
      for (const Navigation& navigation : navigator.Observe(now, states)) Act(navigation);
    } catch (const std::bad_alloc&) {  // Decided again from what is there next time.
    }
  }
}

void Server::Act(const Navigation& navigation) {
  NavigationStats& stats = service_.navigation;
  ShardWorker& shard = *service_.shards[navigation.shard];
  switch (navigation.move) {
    case Navigation::Move::kAdd:
      shard.AskToAddLayers(navigation.layers);
      break;
    case Navigation::Move::kRemove:
      shard.AskToRemoveLayer();
      break;
    case Navigation::Move::kNoBudget:
      // Every interval as long as it lasts: told once in a while.
      if (stats.no_budget++ % 1000 != 0) return;
  }
  const std::string layers =
      navigation.layers > 1 ? fmt::format(" {} layers", navigation.layers) : "";
  const std::string text =
      fmt::format("{}{} shard {}: reads need {:.0f} % of its time on average",
                  Describe(navigation.move), layers, navigation.shard, 100 * navigation.load);
  spdlog::info("navigation: {}", text);
  stats.decisions.insert(stats.decisions.begin(), text);
  if (stats.decisions.size() > kDecisionsKept) stats.decisions.pop_back();
}

}  // namespace stout::blowfish
