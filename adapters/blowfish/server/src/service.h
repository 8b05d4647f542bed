#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "command_stats.h"
#include "epoch_turn.h"
#include "merge_slots.h"
#include "planner.h"
#include "scan_cursors.h"
#include "session.h"
#include "shard_worker.h"
#include "value_limits.h"

namespace stout::blowfish {

/// The counters of the server.
struct ServiceStats {
  std::uint64_t connections = 0;  ///< That were taken.
  std::uint64_t refused_connections = 0;
  std::uint64_t commands = 0;
  std::uint64_t slow_readers = 0;  ///< Cut off.
  std::uint64_t protocol_errors = 0;
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t no_budget = 0;         ///< Layers that were needed, and there was no memory.
  std::vector<std::string> decisions;  ///< The newest, in words.
};

/// State that the connections of a server share.
///
/// Threads: the one that serves the connections.
struct Service {
  Service(const boost::asio::any_io_executor& executor,
          std::vector<std::unique_ptr<ShardWorker>> workers, std::string password)
      : shards(std::move(workers)),
        password(std::move(password)),
        epochs(executor),
        planner(shards.size(), shards.front()->schema(), cursors) {}
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  std::vector<std::unique_ptr<ShardWorker>> shards;
  std::string password;  ///< Empty: none is asked for.
  ScanCursors cursors;
  EpochTurn epochs;
  Planner planner;
  ServiceStats stats;
  CommandStats command_stats;
  std::map<std::uint64_t, const Session*> sessions;
  std::shared_ptr<const MergeSlots> merge_slots;  ///< slots of the shards; null: they have none
  std::uint64_t memory_budget = 0;
  CommandLimits command_limits;
  BatchLimits batch_limits;  ///< limits of one STOUT.WRITE
  std::uint16_t port = 0;
  TimePoint started = ShardQueue::Now();
  std::function<void()> shut_down = [] {};  ///< SHUTDOWN.
};

}  // namespace stout::blowfish
