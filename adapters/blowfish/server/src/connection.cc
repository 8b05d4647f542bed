#include "connection.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "joiner.h"
#include "linger.h"
#include "stout/adapters/time_limit.h"
#include "stout/completion.h"

namespace stout::blowfish {
namespace {

namespace asio = boost::asio;

/// Commands that are carried out together, at most.
constexpr std::size_t kMostCommands = 1024;
/// And the pieces that these may have.
constexpr std::size_t kMostPieces = 16'384;

constexpr std::size_t kLeastRead = std::size_t{16} << 10;
constexpr std::size_t kMostRead = std::size_t{1} << 20;

/// Replies that wait for those of further commands, at most.
constexpr std::size_t kWriteAtOnce = std::size_t{256} << 10;
/// Memory for replies that an idle client may hold.
constexpr std::size_t kRepliesKept = std::size_t{64} << 10;

std::string AddressOf(const asio::ip::tcp::socket& socket) {
  boost::system::error_code gone;
  const auto endpoint = socket.remote_endpoint(gone);
  return gone ? "" : endpoint.address().to_string() + ":" + std::to_string(endpoint.port());
}

// Each command has the latency of its batch: its reply leaves with the others.
void CountCommands(const Batch& batch, Duration latency, Service& service) {
  for (const Request& request : batch.requests) {
    if (request.command != nullptr) {
      service.command_stats.Done(*request.command, latency, request.failed);
    } else if (const auto* const named = service.planner.table().Named(request.arguments)) {
      service.command_stats.Rejected(*named);
    }
  }
}

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, Service& service,
                       const ConnectionLimits& limits)
    : socket_(std::move(socket)),
      service_(service),
      limits_(limits),
      parser_(limits.commands, service.password.empty()),
      batch_(service.shards.size()) {
  batch_.max_replies = limits.max_replies;
  session_.id = ++service_.stats.connections;
  session_.address = AddressOf(socket_);
  session_.authenticated = service_.password.empty();
  session_.since = ShardQueue::Now();
  service_.sessions.emplace(session_.id, &session_);
}

Connection::~Connection() { service_.sessions.erase(session_.id); }

void Connection::Drain() {
  draining_ = true;
  if (reading_) socket_.cancel();
}

asio::awaitable<void> Connection::Run() {
  try {
    co_await Serve();
  } catch (const boost::system::system_error& error) {
    // Clients go as they like.
    spdlog::debug("client {}: {}", session_.address, error.what());
  } catch (const std::exception& error) {
    spdlog::warn("disconnecting client {}: {}", session_.address, error.what());
  }
}

asio::awaitable<void> Connection::Serve() {
  while (!draining_ && !session_.closing) {
    reading_ = true;
    const std::size_t room = std::clamp(parser_.lacks(), kLeastRead, kMostRead);
    const auto buffer = input_.Prepare(room);
    const std::size_t size = co_await socket_.async_read_some(
        asio::buffer(buffer.data(), buffer.size()), asio::use_awaitable);
    reading_ = false;
    service_.stats.input_bytes += size;
    input_.Commit(size);
    while (!session_.closing && Gather()) {
      co_await CarryOut();
      if (replies_.size() >= kWriteAtOnce) co_await WriteReplies();
    }
    if (!parser_.error().empty()) {
      ++service_.stats.protocol_errors;
      ReplyWriter(replies_, session_.version).Error(parser_.error());
      session_.closing = true;
    }
    co_await WriteReplies();
  }
  co_await Linger(socket_);
}

bool Connection::Gather() {
  batch_.Clear();
  words_.Clear();
  batch_.version = session_.version;
  while (batch_.requests.size() < kMostCommands && batch_.order.size() < kMostPieces) {
    const auto command = parser_.Next(input_);
    if (!command) break;
    if (!service_.planner.Add(words_.Keep(command->arguments), session_, batch_)) break;
  }
  session_.commands += batch_.requests.size();
  service_.stats.commands += batch_.requests.size();
  return !batch_.requests.empty();
}

asio::awaitable<void> Connection::CarryOut() {
  const TimePoint begin = ShardQueue::Now();
  {
    EpochTurn::Turn turn;
    if (batch_.requests.back().spread == Spread::kEpoch) turn = co_await service_.epochs.Enter();
    if (!batch_.order.empty()) co_await Dispatch();
  }
  Join(batch_, service_, session_, replies_);
  CountCommands(batch_, ShardQueue::Now() - begin, service_);
  parser_.set_authenticated(session_.authenticated);
  // The limit of a share, and the same again for replies that shards do not bound: keys that were
  // found.
  if (replies_.size() / (batch_.shares.size() + 1) > limits_.max_replies)
    throw std::length_error("its replies are larger than --max-replies");
}

asio::awaitable<void> Connection::Dispatch() {
  co_await Initiate<void()>(
      [this](UniqueFunction<void()> done) {
        batch_.done = std::move(done);
        batch_.open = static_cast<std::size_t>(std::ranges::count_if(
            batch_.shares, [](const Share& share) { return !share.empty(); }));
        // The batch may be done while the last is pushed: it is not looked at afterwards.
        const std::size_t shards = batch_.shares.size();
        std::size_t left = batch_.open;
        for (std::size_t i = 0; i < shards && left > 0; ++i) {
          if (batch_.shares[i].empty()) continue;
          --left;
          try {
            service_.shards[i]->queue().Push(batch_.shares[i]);
          } catch (const std::bad_alloc&) {
            // The other shards have theirs, or are about to: who waits, waits for them.
            batch_.shares[i].Refuse(kNoMemory);
            batch_.Done();
          }
        }
      },
      asio::use_awaitable);
}

asio::awaitable<void> Connection::WriteReplies() {
  std::size_t written = 0;
  // A client that takes a byte from time to time is also disconnected.
  const TimePoint end = ShardQueue::Now() + limits_.write_timeout +
                        std::chrono::seconds(replies_.size() / limits_.min_read_rate);
  while (written < replies_.size()) {
    const Duration patience = std::min(limits_.write_timeout, end - ShardQueue::Now());
    const TimeLimit limit(socket_.get_executor(), patience, [this] {
      ++service_.stats.slow_readers;
      spdlog::warn("disconnecting client {}: it takes no replies, or takes them too slowly",
                   session_.address);
      socket_.close();
    });
    written += co_await socket_.async_write_some(
        asio::buffer(replies_.data() + written, replies_.size() - written), asio::use_awaitable);
  }
  service_.stats.output_bytes += written;
  replies_.clear();
  if (replies_.capacity() > kRepliesKept) replies_.shrink_to_fit();
}

}  // namespace stout::blowfish
