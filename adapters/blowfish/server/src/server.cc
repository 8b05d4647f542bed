#include "server.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <new>
#include <string_view>
#include <utility>

#include "info.h"
#include "linger.h"

namespace stout::blowfish {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// Decisions of the navigation that INFO tells.
constexpr std::size_t kDecisionsKept = 16;

/// How long a connection is silent until the client is asked whether it is there.
constexpr int kKeepAliveSeconds = 300;

/// How long nobody is taken when the process has no file left for one more.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

/// Clients beyond --max-clients that get to know why: the others may.
constexpr std::size_t kMostRefused = 100;

}  // namespace

Server::Server(asio::io_context& context, std::vector<std::unique_ptr<ShardWorker>> shards,
               ServerOptions options)
    : context_(context),
      options_(std::move(options)),
      service_(context.get_executor(), std::move(shards), options_.password),
      acceptor_(context),
      tick_(context) {
  service_.memory_budget = options_.memory_budget;
  service_.command_limits = options_.connections.commands;
  service_.batch_limits = BatchLimitsOf(service_.command_limits);
  AddKeptLayers();
  for (const auto& shard : service_.shards) {
    shard->Start([](Share& share) { share.batch->Done(); });
  }
}

// Shards may be at work for connections that never got their replies.
Server::~Server() {
  for (const auto& shard : service_.shards) shard->queue().Stop();  // All at a time.
  for (const auto& shard : service_.shards) shard->Stop();
}

ErrorCode Server::Listen(Diagnostics* diagnostics) {
  error_code failed;
  asio::ip::tcp::resolver resolver(context_);
  const auto found = resolver.resolve(options_.host, std::to_string(options_.port),
                                      asio::ip::tcp::resolver::passive, failed);
  if (!failed) {
    const asio::ip::tcp::endpoint endpoint = found.begin()->endpoint();
    acceptor_.open(endpoint.protocol(), failed);
    if (!failed) acceptor_.set_option(asio::socket_base::reuse_address(true), failed);
    if (!failed) acceptor_.bind(endpoint, failed);
    if (!failed) acceptor_.listen(asio::socket_base::max_listen_connections, failed);
  }
  if (failed) {
    if (diagnostics) {
      diagnostics->message = fmt::format("cannot listen on {}:{}: {}; choose another with --listen",
                                         options_.host, options_.port, failed.message());
    }
    return Errc::kBadUrl;
  }
  service_.port = acceptor_.local_endpoint().port();
  asio::co_spawn(context_, Accept(), asio::detached);
  asio::co_spawn(context_, Navigate(), asio::detached);
  return {};
}

// After any failure the next client is waited for, because there may be room again.
asio::awaitable<void> Server::Accept() {
  bool refusing = false;
  while (!draining_) {
    error_code failed;
    try {
      asio::ip::tcp::socket socket =
          co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, failed));
      if (draining_) co_return;
      if (!failed) Take(std::move(socket));
    } catch (const std::bad_alloc&) {
      failed = asio::error::no_memory;
    }
    if (!failed) {
      if (std::exchange(refusing, false)) spdlog::info("accepting clients again");
      continue;
    }
    if (!std::exchange(refusing, true))
      spdlog::warn("cannot accept clients at present: {}", failed.message());
    try {
      asio::steady_timer pause(context_, kAcceptPause);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, failed));
    } catch (const std::bad_alloc&) {  // It is tried at once, then.
    }
  }
}

void Server::Take(asio::ip::tcp::socket socket) {
  error_code ignored;
  if (connections_.size() >= options_.max_clients) {
    ++service_.stats.refused_connections;
    return Refuse(std::move(socket));
  }
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  // Clients that have lost their power do not say so.
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const int seconds = kKeepAliveSeconds;
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  auto owner = std::make_unique<Connection>(std::move(socket), service_, options_.connections);
  Connection* const connection = owner.get();
  connections_.emplace(connection, std::move(owner));
  try {
    asio::co_spawn(
        context_,
        [](Server& server, Connection* connection) -> asio::awaitable<void> {
          co_await connection->Run();
          server.connections_.erase(connection);
          server.EndIfDrained();
        }(*this, connection),
        asio::detached);
  } catch (...) {
    connections_.erase(connection);
    throw;
  }
}

void Server::Refuse(asio::ip::tcp::socket socket) {
  constexpr std::string_view kFull = "-ERR max number of clients reached\r\n";
  error_code ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(kFull), ignored);
  if (refused_ >= kMostRefused) return;
  asio::co_spawn(
      context_,
      [](Server& server, asio::ip::tcp::socket refused) -> asio::awaitable<void> {
        ++server.refused_;
        try {
          co_await Linger(refused);
        } catch (const std::bad_alloc&) {  // It may not get to know, then.
        }
        --server.refused_;
      }(*this, std::move(socket)),
      asio::detached);
}

void Server::Drain(UniqueFunction<void()> done) {
  drained_ = std::move(done);
  draining_ = true;
  error_code ignored;
  acceptor_.close(ignored);
  tick_.cancel();
  for (const auto& [connection, owner] : connections_) connection->Drain();
  EndIfDrained();
}

void Server::EndIfDrained() {
  if (draining_ && connections_.empty() && drained_) std::exchange(drained_, {})();
}

// In turns, so that a smaller budget than before is shared by all.
void Server::AddKeptLayers() try {
  std::uint64_t used = 0;
  for (const auto& shard : service_.shards) used += shard->status().compressed_bytes;
  for (bool added = true; added;) {
    added = false;
    for (const auto& shard : service_.shards) {
      const ShardStatus before = shard->status();
      if (used + before.next_layer_bytes > options_.memory_budget || !shard->AddKeptLayer())
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
  Navigator navigator(options_.navigation, count, ShardQueue::Now());
  std::vector<Duration> read_time(count);  // As of the look before.
  std::vector<ShardState> states(count);
  TimePoint before = ShardQueue::Now();
  while (!draining_) {
    tick_.expires_after(options_.navigation.interval);
    error_code cancelled;
    co_await tick_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    if (draining_) co_return;  // A short interval says nothing.
    const TimePoint now = ShardQueue::Now();
    const double passed = static_cast<double>((now - before).count());
    std::uint64_t compressed = 0;
    for (std::size_t i = 0; i < count; ++i) {
      ShardWorker& shard = *service_.shards[i];
      const ShardStatus status = shard.status();
      const Duration read = std::max(shard.read_time().Total(now), read_time[i]);
      states[i] = {.reads = static_cast<double>((read - read_time[i]).count()) / passed,
                   .queue = shard.queue().waiting(),
                   .layers = status.layers,
                   .bytes = status.layer_bytes,
                   .next_bytes = status.next_layer_bytes,
                   .finest_bytes = status.finest_layer_bytes,
                   .filling = status.filling,
                   .moving = status.moves != shard.asked_moves()};
      read_time[i] = read;
      compressed += status.compressed_bytes;
    }
    before = now;
    navigator.set_budget(options_.memory_budget - std::min(compressed, options_.memory_budget));
    try {
      for (const Navigation& navigation : navigator.Observe(now, states)) Act(navigation);
    } catch (const std::bad_alloc&) {  // Decided again from what is there next time.
    }
  }
}

void Server::Act(const Navigation& navigation) {
  ServiceStats& stats = service_.stats;
  ShardWorker& shard = *service_.shards[navigation.shard];
  switch (navigation.move) {
    case Navigation::Move::kAdd:
      shard.AskToAddLayer();
      break;
    case Navigation::Move::kRemove:
      shard.AskToRemoveLayer();
      break;
    case Navigation::Move::kNoBudget:
      // Every interval as long as it lasts: told once in a while.
      if (stats.no_budget++ % 1000 != 0) return;
  }
  const std::string text = fmt::format(
      "{} shard {}: reads take {:.0f} % of its time, queue {:.1f} on average",
      Describe(navigation.move), navigation.shard, 100 * navigation.reads, navigation.queue);
  spdlog::info("navigation: {}", text);
  stats.decisions.insert(stats.decisions.begin(), text);
  if (stats.decisions.size() > kDecisionsKept) stats.decisions.pop_back();
}

}  // namespace stout::blowfish
