#include "node/peers.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <iterator>
#include <new>
#include <optional>
#include <utility>

#include "node/rethrow.h"
#include "resp/client/address.h"
#include "resp/client/tls.h"
#include "stout/clock.h"
#include "stout/completion.h"
#include "stout/core/errc.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;

/// Maximum connections to one node. A slow answer holds up only the commands that were sent with
/// its own.
constexpr std::size_t kMaxConnections = 16;

/// A range may use its share of the connections, and never fewer than this: its second request
/// leaves before the first is answered. All commands of a range may wait for seconds, for instance
/// when its only member has died. Up to seven such ranges leave connections to the other ranges.
constexpr std::size_t kMinOfRange = 2;

/// Maximum connections of RunAlone to one node. Clients must not take all that a node has for
/// others.
constexpr std::size_t kMaxAlone = 64;

/// Bytes of commands that are sent together. More only if one call has more.
constexpr std::size_t kSentTogether = std::size_t{1} << 20;

constexpr auto kConnectTimeout = std::chrono::seconds(2);

/// How long a node that has left the deployment still answers. More than kFarewell.
constexpr auto kGrace = std::chrono::seconds(2);

}  // namespace

Peers::Peers(asio::any_io_executor executor, std::string password, Duration timeout,
             std::size_t ranges)
    : executor_(std::move(executor)),
      password_(std::move(password)),
      timeout_(timeout),
      most_of_range_(std::max(kMaxConnections / ranges, kMinOfRange)) {}

Peers::~Peers() = default;

asio::awaitable<resp::Outcome> Peers::Run(std::string address, RangeId range,
                                          const resp::Commands& commands) {
  co_return co_await Initiate<void(resp::Outcome)>(
      [this, &address, range, &commands](UniqueFunction<void(resp::Outcome)> done) {
        Enqueue(address, {range, commands, std::move(done)});
      },
      asio::use_awaitable);
}

// Returns null if it is no address.
std::shared_ptr<resp::Peer> Peers::MakePeer(const std::string& address) const {
  const auto authority = resp::ReadAuthority(address, 0);
  if (!authority || authority->addresses.size() != 1) return nullptr;
  resp::Peer peer{.name = "node " + address,
                  .address = authority->addresses.front(),
                  .greeting = {},
                  .timeout = timeout_,
                  .connect_timeout = kConnectTimeout,
                  .reports = false};
  resp::AppendAuth({}, password_, &peer.greeting);
  peer.greeting.Add({"STOUT.PEER", "1"});  // a node that is full answers with an error
  if (!greeting_.empty()) {
    peer.greeting.Begin(greeting_.size());
    for (const std::string& word : greeting_) peer.greeting.Argument(word);
  }
  if (tls_ != nullptr && *tls_) {
    peer.make_tls = [tls = tls_, host = peer.address.host](resp::TlsLayer::Socket& socket) {
      return resp::MakeTlsLayer(socket, **tls, host);
    };
  }
  return std::make_shared<resp::Peer>(std::move(peer));
}

asio::awaitable<resp::Outcome> Peers::RunAlone(std::string address, MakeCommands make,
                                               Duration timeout) {
  const TimePoint deadline = SteadyNow() + timeout;
  const auto peer = MakePeer(address);
  if (!peer) co_return resp::Outcome{Errc::kBadUrl, "'" + address + "' is no address of a node"};
  if (!co_await AwaitTurn(alone_[address], deadline))
    co_return resp::Outcome{Errc::kTransient, "too many commands wait at " + peer->name};
  resp::Outcome outcome;
  try {
    const Duration left = std::max<Duration>(deadline - SteadyNow(), std::chrono::milliseconds(1));
    peer->timeout = left;
    peer->connect_timeout = std::min<Duration>(kConnectTimeout, left);
    const resp::Commands commands = make(left);
    resp::Connection connection(peer, executor_);
    outcome = co_await connection.Open();
    if (outcome.errc == Errc::kOk) outcome = co_await connection.Run(commands);
  } catch (const std::bad_alloc& error) {
    outcome = {Errc::kUnknown, error.what()};
  }
  EndTurn(address);
  co_return outcome;
}

asio::awaitable<bool> Peers::AwaitTurn(Alone& alone, TimePoint deadline) {
  if (alone.running < kMaxAlone) {
    ++alone.running;
    co_return true;
  }
  Alone::Turn turn{asio::steady_timer(executor_, deadline - SteadyNow())};
  const auto place = alone.queue.insert(alone.queue.end(), &turn);
  boost::system::error_code ignored;
  try {
    co_await turn.timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  } catch (const std::bad_alloc&) {  // it did not begin to wait
  }
  if (!turn.has_come) alone.queue.erase(place);
  co_return turn.has_come;
}

void Peers::EndTurn(const std::string& address) {
  const auto found = alone_.find(address);
  Alone& alone = found->second;
  if (alone.queue.empty()) {
    if (--alone.running == 0) alone_.erase(found);
    return;
  }
  Alone::Turn& next = *alone.queue.front();
  alone.queue.pop_front();
  next.has_come = true;
  next.timer.cancel();
}

void Peers::Enqueue(const std::string& address, Call call) {
  Node& node = nodes_[address];
  if (!node.peer) node.peer = MakePeer(address);
  if (!node.peer) return call.done({Errc::kBadUrl, "'" + address + "' is no address of a node"});
  node.ranges[call.range].queue.push_back(std::move(call));
  Start(node);
}

bool Peers::MaySend(const Range& range) const {
  return !range.queue.empty() && range.connections < most_of_range_;
}

void Peers::Start(Node& node) {
  const bool any =
      std::ranges::any_of(node.ranges, [this](const auto& each) { return MaySend(each.second); });
  if (!any || node.busy.size() == kMaxConnections) return;
  std::unique_ptr<resp::Connection> connection;
  if (node.idle.empty()) {
    connection = std::make_unique<resp::Connection>(node.peer, executor_);
  } else {
    connection = std::move(node.idle.back());
    node.idle.pop_back();
  }
  node.busy.push_back(connection.get());
  asio::co_spawn(executor_, Send(node, std::move(connection)), Rethrow());
}

std::list<Peers::Call> Peers::Take(Node& node) const {
  std::list<Call> calls;
  std::size_t bytes = 0;
  auto at = node.ranges.upper_bound(node.last);
  for (std::size_t i = 0; i < node.ranges.size() && bytes < kSentTogether; ++i, ++at) {
    if (at == node.ranges.end()) at = node.ranges.begin();
    Range& range = at->second;
    const bool alone = range.connections > 0;  // it may be silent
    if (!MaySend(range) || (alone && !calls.empty())) continue;
    ++range.connections;
    node.last = at->first;
    while (!range.queue.empty() && bytes < kSentTogether) {
      bytes += range.queue.front().commands.bytes().size();
      calls.splice(calls.end(), range.queue, range.queue.begin());
    }
    if (alone) break;
  }
  return calls;
}

void Peers::Return(Node& node, const std::list<Call>& calls) {
  for (auto call = calls.begin(); call != calls.end();) {
    const auto range = node.ranges.find(call->range);
    while (call != calls.end() && call->range == range->first) ++call;
    if (--range->second.connections == 0 && range->second.queue.empty()) node.ranges.erase(range);
  }
}

asio::awaitable<void> Peers::Send(Node& node, std::unique_ptr<resp::Connection> connection) {
  for (std::list<Call> calls; !(calls = Take(node)).empty();) {
    resp::Outcome outcome;
    bool sent = false;
    try {
      Start(node);  // what was not taken
      resp::Commands commands;
      for (const Call& call : calls) commands.Append(call.commands);
      const bool opens = !connection->Usable();
      if (opens) outcome = co_await connection->Open();
      sent = outcome.errc == Errc::kOk;
      if (!sent && outcome.message != node.problem) {
        node.problem = outcome.message;
        spdlog::warn("{}: {}", node.peer->name, node.problem);
      }
      if (sent && opens) node.problem.clear();
      if (sent) outcome = co_await connection->Run(commands);
    } catch (const std::bad_alloc& error) {
      outcome = {sent ? Errc::kUnknown : Errc::kTransient, error.what()};
      connection->Drop();
    }
    Return(node, calls);
    auto reply = std::make_move_iterator(outcome.replies.begin());
    auto left = outcome.replies.size();
    for (Call& call : calls) {
      resp::Outcome part{outcome.errc, outcome.message};
      const std::size_t count = call.commands.count();
      if (sent && left >= count) {
        part.errc = Errc::kOk;
        part.replies.assign(reply, reply + static_cast<std::ptrdiff_t>(count));
        reply += static_cast<std::ptrdiff_t>(count);
        left -= count;
      } else {
        left = 0;
      }
      call.done(std::move(part));
    }
  }
  std::erase(node.busy, connection.get());
  if (!node.gone && !connection->closed()) node.idle.push_back(std::move(connection));
}

void Peers::KeepOnly(const std::vector<std::string>& members) {
  for (auto at = nodes_.begin(); at != nodes_.end();) {
    Node& node = at->second;
    if (std::ranges::binary_search(members, at->first)) {
      node.since.reset();
    } else if (!node.since) {
      node.since = SteadyNow();
    }
    node.gone = node.since && SteadyNow() - *node.since > kGrace;
    if (node.gone) {
      for (resp::Connection* const connection : node.busy) connection->Close();
      node.idle.clear();
    }
    at = node.gone && node.busy.empty() ? nodes_.erase(at) : std::next(at);
  }
}

}  // namespace stout::node
