#pragma once

#include <algorithm>
#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "layout.h"
#include "operations.h"
#include "server.h"
#include "stout/adapters/redis_store.h"

namespace stout {

// The state that a store's calls need until they have ended, which may be after the store.
class RedisStore::Engine {
 public:
  Engine(const std::shared_ptr<const RedisOptions>& options, const redis::Target& target,
         const redis::Replication& replication, const boost::asio::any_io_executor& executor,
         const std::shared_ptr<redis::LossWatch>& watch)
      : layout(*options), replication(replication), server(options, target, executor, watch) {}

  // On the strand.
  void NoteEpoch(Epoch epoch) { noted_epoch = std::max(noted_epoch.load(), epoch); }

  const redis::Layout layout;
  const redis::Replication replication;
  redis::Server server;
  std::atomic<Epoch> noted_epoch{0};  // The largest that the server is known to remember.
};

}  // namespace stout
