#pragma once

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
// Owner: shared by the connections of a store.
// Threads: lost() and flag() any; Observe() and Lose() on the store's strand.
class LossWatch {
 public:
  // A server that has the store's data, and what it was when the store opened.
  struct Known {
    RedisAddress address;
    Incarnation incarnation;
  };

  // `name`: in the log.
  LossWatch(std::string name, std::vector<Known> servers)
      : name_(std::move(name)), servers_(std::move(servers)) {}

  // A server has told what it is. Servers that were not known at the opening have nothing to lose.
  void Observe(const RedisAddress& address, const Incarnation& now);
  // From now on the store is lost. The first reason is logged.
  void Lose(const std::string& why);

  [[nodiscard]] bool lost() const { return *flag_; }
  [[nodiscard]] const std::shared_ptr<LossFlag>& flag() const { return flag_; }

 private:
  const std::string name_;
  const std::vector<Known> servers_;
  const std::shared_ptr<LossFlag> flag_ = std::make_shared<LossFlag>(false);
};

// StoreTraits::incarnation of a store on these servers.
[[nodiscard]] std::string IncarnationOf(const std::vector<LossWatch::Known>& servers);

}  // namespace stout::redis
