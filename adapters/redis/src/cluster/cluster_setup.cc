#include "cluster/cluster_setup.h"

#include <fmt/format.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "cluster/slot_set.h"
#include "connection.h"
#include "server_facts.h"
#include "setup.h"
#include "stout/adapters/store_url.h"

namespace stout::redis {
namespace {

namespace asio = boost::asio;

// Asks one after another, on a thread that waits.
class Inquiry {
 public:
  Inquiry(const std::shared_ptr<const RedisOptions>& options, const asio::any_io_executor& executor)
      : options_(options), executor_(executor) {}

  asio::awaitable<void> Run(std::span<const RedisAddress> seeds) {
    for (const RedisAddress& seed : seeds) {
      co_await AskForMap(seed);
      // Another seed may know more, but none will take another password.
      if (map_ || errc_ == Errc::kBadUrl) break;
    }
    if (!map_) co_return;
    for (const RedisAddress& node : map_->Nodes()) {
      if (map_) co_await AskForSetup(node);
    }
  }

  [[nodiscard]] Errc errc() const { return errc_; }
  [[nodiscard]] const std::string& message() const { return message_; }
  // If errc() is kOk.
  [[nodiscard]] const SlotMap& map() const { return *map_; }
  // Nullopt: the node did not tell.
  [[nodiscard]] const std::optional<Successors>& successors() const { return successors_; }
  [[nodiscard]] const std::vector<ServerFacts>& nodes() const { return nodes_; }

 private:
  void Fail(Errc errc, std::string message) {
    errc_ = errc;
    message_ = std::move(message);
  }

  asio::awaitable<void> AskForMap(const RedisAddress& seed) {
    Connection connection(options_, Target{seed}, executor_);
    Outcome outcome = co_await connection.Open();
    if (outcome.errc == Errc::kOk) {
      Commands question;
      question.Add({"CLUSTER", "SLOTS"});
      question.Add({"CLUSTER", "NODES"});
      outcome = co_await connection.Run(question);
    }
    if (outcome.errc != Errc::kOk) {
      co_return Fail(outcome.errc == Errc::kBadUrl ? Errc::kBadUrl : Errc::kTransient,
                     fmt::format("{}: {}", NameOf(seed), outcome.message));
    }
    const Reply& reply = outcome.replies.front();
    std::optional<SlotMap> map = SlotMap::Parse(reply, seed);
    if (!map) {
      co_return Fail(Errc::kBadUrl,
                     fmt::format("{} is not a node of a cluster: {}", NameOf(seed), reply.text));
    }
    // A node that has just been started, or was removed, knows no other node.
    if (const std::size_t served = map->slots_served(); served < kSlots) {
      co_return Fail(Errc::kTransient, fmt::format("{}: no node serves {} of {} slots",
                                                   NameOf(seed), kSlots - served, kSlots));
    }
    map_ = std::move(map);
    successors_ = CountSuccessors(outcome.replies.back().text);
    errc_ = Errc::kOk;
  }

  asio::awaitable<void> AskForSetup(const RedisAddress& node) {
    Connection connection(options_, Target{node}, executor_);
    ServerFacts facts;
    Outcome outcome = co_await connection.Open();
    if (outcome.errc == Errc::kOk) {
      const bool answered = co_await Inspect(connection, &facts);
      if (!answered) outcome = {.errc = Errc::kTransient, .message = "the connection was lost"};
    }
    if (outcome.errc == Errc::kOk) {
      nodes_.push_back(std::move(facts));
    } else {
      map_.reset();
      Fail(outcome.errc, fmt::format("{}: {}", NameOf(node), outcome.message));
    }
  }

  const std::shared_ptr<const RedisOptions> options_;
  const asio::any_io_executor executor_;
  Errc errc_ = Errc::kTransient;
  std::string message_ = "no node to ask";
  std::optional<SlotMap> map_;
  std::optional<Successors> successors_;
  std::vector<ServerFacts> nodes_;  // of each node that the map names
};

// A batch is as safe as the weakest node makes it.
ServerFacts Weakest(const std::vector<ServerFacts>& nodes) {
  ServerFacts weakest = nodes.front();
  for (const ServerFacts& node : nodes) {
    weakest.syncs &= node.syncs;
    weakest.has_aof &= node.has_aof;
    weakest.evicts |= node.evicts;
    weakest.evicts_tombstones |= node.evicts_tombstones;
    weakest.waits_for_aof &= node.waits_for_aof;
    if (weakest.unknown.empty()) weakest.unknown = node.unknown;
    if (node.incarnation.process.empty()) weakest.incarnation = {};
    if (node.max_argument > 0 &&
        (weakest.max_argument == 0 || node.max_argument < weakest.max_argument)) {
      weakest.max_argument = node.max_argument;
    }
  }
  return weakest;
}

// A replica that takes over has what it confirmed. Only where all of them have to confirm is it
// certain that the one that takes over did. CLUSTER SLOTS, and so the map, omits those that are
// away.
std::string WhyTakeOverLoses(const SlotMap& map, const std::optional<Successors>& successors,
                             std::size_t wait) {
  if (!successors) return "its replicas are not known: permit CLUSTER NODES";
  if (wait < successors->most) {
    return fmt::format(
        "a replica that takes over may lack them (wait={}, replicas of a master: {})", wait,
        successors->most);
  }
  if (map.Nodes().size() - map.masters().size() < successors->all) {
    return "a replica is away, so its settings are not known";
  }
  return {};
}

}  // namespace

Result<ClusterFacts> SetUpCluster(const std::shared_ptr<const RedisOptions>& options,
                                  std::span<const RedisAddress> seeds, Diagnostics* diagnostics) {
  // Uses a context of its own, because the caller's executor may be the thread that waits here.
  asio::io_context io;
  Inquiry inquiry(options, io.get_executor());
  asio::co_spawn(io, inquiry.Run(seeds), [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
  io.run();
  if (inquiry.errc() != Errc::kOk) {
    return Fail(inquiry.errc(), fmt::format("redis-cluster: {}", inquiry.message()), diagnostics);
  }
  const ServerFacts weakest = Weakest(inquiry.nodes());
  ClusterFacts facts{.map = inquiry.map(),
                     .replication = ReplicationOf(*options, weakest),
                     .tombstone_ttl = TombstoneTtl(*options, weakest),
                     .max_batch_bytes = MaxBatchBytes(weakest)};
  facts.why_not_durable = IsDurable(weakest, facts.replication)
                              ? WhyTakeOverLoses(facts.map, inquiry.successors(), options->wait)
                              : WhyNotDurable(weakest);
  facts.durable = facts.why_not_durable.empty();
  facts.why_no_loss_detection = WhyNoLossDetection(weakest);
  for (std::size_t i = 0; i < facts.map.masters().size(); ++i) {  // they were asked first
    facts.masters.push_back({facts.map.masters()[i].address, inquiry.nodes()[i].incarnation});
  }
  return facts;
}

}  // namespace stout::redis
