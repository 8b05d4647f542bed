#include "loss_watch.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>

#include "connection.h"
#include "stout/core/lease_table.h"

namespace stout::redis {

void LossWatch::Observe(const RedisAddress& address, const Incarnation& now, std::size_t replicas) {
  if (!acts_ && replicas > confirming_) {
    acts_ = true;
    spdlog::warn(
        "{}: {} has {} replicas, {} of which must confirm a write: a restart or another master "
        "counts as a loss from now on",
        name_, NameOf(address), replicas, confirming_);
  }
  const auto known = std::find_if(servers_.begin(), servers_.end(),
                                  [&](const Known& server) { return server.address == address; });
  if (known == servers_.end() || !MayHaveLost(known->incarnation, now)) return;
  if (!acts_) {
    known->incarnation = now;
    return;
  }
  Lose(fmt::format(
      "{} {}", NameOf(address),
      now.process == known->incarnation.process ? "has been a replica" : "is another process"));
}

void LossWatch::Lose(const std::string& why) {
  if (flag_->exchange(true)) return;
  spdlog::error(
      "{}: {} since the store was opened, and may lack acknowledged writes; every call "
      "fails until the store is opened anew",
      name_, why);
}

std::string IncarnationOf(const std::vector<LossWatch::Known>& servers) {
  std::set<std::string> lives;
  for (const auto& [address, incarnation] : servers) {
    const bool forgotten = incarnation.continues.find_first_not_of('0') == std::string::npos;
    lives.insert(incarnation.process + (forgotten ? "" : "/" + incarnation.continues));
  }
  if (lives.size() == 1) return *lives.begin();
  return fmt::format("{:016x}", internal::NameHash(fmt::format("{}", fmt::join(lives, " "))));
}

}  // namespace stout::redis
