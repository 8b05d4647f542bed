#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "incarnation.h"
#include "stout/adapters/pending_calls.h"
#include "stout/adapters/redis_options.h"

namespace stout::redis {

// Compares the servers that a store uses with those that it was opened with.
//
// While every server is durable and all its replicas confirm each batch, nothing is lost: then the
// watch only follows the servers. It acts from the first time that a server shows more replicas.
//
// Owner: shared by the connections of a store.
// Threads: lost() and flag() any; all other members on the store's strand.
class LossWatch {
 public:
  // A server that has the store's data, and what it was when the store opened.
  struct Known {
    RedisAddress address;
    Incarnation incarnation;
  };

  // `name`: in the log. `confirming`: replicas that must have a batch before it is answered.
  // `acts`: from the opening on.
  LossWatch(std::string name, std::vector<Known> servers, std::size_t confirming, bool acts)
      : name_(std::move(name)),
        confirming_(confirming),
        acts_(acts),
        servers_(std::move(servers)) {}

  // A server has told what it is, and how many replicas it has. Servers that were not known at the
  // opening have nothing to lose.
  void Observe(const RedisAddress& address, const Incarnation& now, std::size_t replicas);
  // From now on the store is lost. The first reason is logged.
  void Lose(const std::string& why);

  // Returns true if another process, or another master, may lack acknowledged writes.
  [[nodiscard]] bool acts() const { return acts_; }

  [[nodiscard]] bool lost() const { return *flag_; }
  [[nodiscard]] const std::shared_ptr<LossFlag>& flag() const { return flag_; }

 private:
  const std::string name_;
  const std::size_t confirming_;
  bool acts_;
  std::vector<Known> servers_;
  const std::shared_ptr<LossFlag> flag_ = std::make_shared<LossFlag>(false);
};

// StoreTraits::incarnation of a store on these servers.
[[nodiscard]] std::string IncarnationOf(const std::vector<LossWatch::Known>& servers);

}  // namespace stout::redis
