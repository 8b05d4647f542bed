#include "cluster/topology.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "cluster/gathering.h"
#include "stout/adapters/no_throw.h"

namespace stout::redis {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

// Only new replicas need it; a moved slot is noticed by its redirection.
constexpr auto kRefreshEvery = 30s;
// While a replica is being elected, which takes seconds, every batch doubts the map.
constexpr auto kPause = 100ms;
// The first answer counts. Among this number of nodes, one is probably awake and in the majority.
constexpr std::size_t kAskAtOnce = 5;

}  // namespace

struct Topology::Search {
  std::optional<SlotMap> found;
};

Topology::Topology(std::shared_ptr<const RedisOptions> options, SlotMap map,
                   std::vector<RedisAddress> seeds, const asio::any_io_executor& strand,
                   std::shared_ptr<LossWatch> watch)
    : options_(std::move(options)),
      seeds_(std::move(seeds)),
      strand_(strand),
      watch_(std::move(watch)),
      complete_(map),
      map_(std::move(map)),
      refresh_(strand),
      pause_(strand) {}

void Topology::Start() {
  asio::co_spawn(
      strand_, [self = shared_from_this()] { return self->KeepMap(); }, asio::detached);
}

void Topology::Close() {
  asio::post(strand_, [self = shared_from_this()] {
    self->closed_ = true;
    for (const auto& node : self->nodes_) node->server.Close();
    self->refresh_.cancel();
    self->pause_.cancel();
  });
}

std::shared_ptr<Topology::Node> Topology::NodeAt(const RedisAddress& address) {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(),
                                  [&](const auto& node) { return node->address == address; });
  if (found != nodes_.end()) return *found;
  nodes_.push_back(std::make_shared<Node>(
      Node{.address = address, .server = Server(options_, Target{address}, strand_, watch_)}));
  if (closed_) nodes_.back()->server.Close();
  return nodes_.back();
}

void Topology::Learn(const Redirection& redirection) {
  if (redirection.kind == Redirection::Kind::kAsk) {
    ++asked_;
    return;
  }
  ++moved_;
  map_.Move(redirection.slot, redirection.node);
  ++owners_version_;
  CompareOwners();
  Doubt();  // More may have changed than that slot.
}

void Topology::Doubt() {
  doubted_ = true;
  refresh_.cancel();
}

// A store that is lost stays so. It may be kept for long, so it ends its connections.
asio::awaitable<void> Topology::KeepMap() {
  while (!closed_) {
    if (watch_ != nullptr && watch_->lost()) co_return Close();
    refresh_.expires_after(kRefreshEvery);
    if (!doubted_) co_await refresh_.async_wait(kNoThrow);
    doubted_ = false;
    if (!closed_) co_await SearchMap();
    if (closed_) break;
    pause_.expires_after(kPause);
    co_await pause_.async_wait(kNoThrow);
  }
}

asio::awaitable<void> Topology::SearchMap() {
  const auto search = std::make_shared<Search>();
  Gathering gathering(strand_);
  for (const auto& node : NodesToAsk()) {
    auto ticket = std::make_shared<Gathering::Ticket>(gathering.Add());
    node->being_asked = ticket;
    // It may still be at it when another has answered. Weak while it waits: the node owns the pool,
    // and an executor that is stopped first would leave a cycle. If too many calls wait already,
    // the job is destroyed with its ticket.
    (void)node->server.Submit(Server::Kind::kRead,
                              [weak = std::weak_ptr(node), search, ticket = std::move(ticket)](
                                  Connection* with) -> asio::awaitable<void> {
                                const auto node = weak.lock();
                                if (node == nullptr || with == nullptr) co_return;
                                std::optional<SlotMap> map = co_await Ask(*with, node->address);
                                if (map) search->found = std::move(map);
                              });
  }
  co_await gathering.WaitUnless([&search] { return search->found.has_value(); });
  if (closed_) co_return;
  nobody_answered_ = !search->found;
  if (search->found) Adopt(*std::move(search->found));
}

asio::awaitable<std::optional<SlotMap>> Topology::Ask(Connection& connection,
                                                      const RedisAddress& address) {
  Commands question;
  question.Add({"CLUSTER", "SLOTS"});
  const Outcome outcome = co_await connection.Run(question);
  std::optional<SlotMap> map;
  if (outcome.errc == Errc::kOk) {
    map = SlotMap::Parse(outcome.replies.front(), address);
    if (!map && !outcome.replies.front().error()) connection.Distrust();
  }
  // A node that knows no other node has just been started, or was removed.
  if (map && map->slots_served() == 0) map.reset();
  co_return map;
}

std::vector<std::shared_ptr<Topology::Node>> Topology::NodesToAsk() {
  std::vector<RedisAddress> addresses = map_.Nodes();
  if (nobody_answered_) addresses.insert(addresses.end(), seeds_.begin(), seeds_.end());
  std::shuffle(addresses.begin(), addresses.end(), random_);
  std::vector<std::shared_ptr<Node>> nodes;
  for (const RedisAddress& address : addresses) {
    const auto node = NodeAt(address);
    if (!node->being_asked.expired()) continue;  // for longer than the others: it is away
    if (nodes.size() < kAskAtOnce) nodes.push_back(node);
  }
  return nodes;
}

// Calls to a node that no longer exists are given up at once. Otherwise the batches of a
// failed-over master would wait for their time-out. A node that no map has named yet may be about
// to get its first slot.
void Topology::Adopt(SlotMap map) {
  if (!map.SameOwners(map_)) ++owners_version_;
  const std::vector<RedisAddress> before = std::exchange(map_, std::move(map)).Nodes();
  const std::vector<RedisAddress> now = map_.Nodes();
  CompareOwners();
  const auto names = [](const std::vector<RedisAddress>& nodes, const RedisAddress& address) {
    return std::find(nodes.begin(), nodes.end(), address) != nodes.end();
  };
  std::erase_if(nodes_, [&](const auto& node) {
    const bool gone = names(before, node->address) && !names(now, node->address);
    if (gone) node->server.Close();
    return gone;
  });
}

// The new owner may be a replica that lagged. It may also have got the slot with all its keys; but
// if the old owner died, nothing shows that.
void Topology::CompareOwners() {
  if (watch_ == nullptr || watch_->lost() || !map_.MovedSince(complete_)) return;
  if (watch_->acts()) {
    watch_->Lose("a slot has got another master");
  } else {
    complete_ = map_;
  }
}

}  // namespace stout::redis
