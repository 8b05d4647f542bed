#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "blowfish/server/dispatcher.h"
#include "blowfish/server/epoch_turn.h"
#include "blowfish/server/shard_command.h"
#include "blowfish/server/shard_worker.h"
#include "blowfish/server/value_limits.h"
#include "blowfish/store/merge_slots.h"
#include "resp/server/scan_cursors.h"
#include "resp/server/service.h"

namespace stout::blowfish {

/// Counters of the navigation.
struct NavigationStats {
  std::uint64_t no_budget = 0;         ///< layers that were needed, but there was no memory
  std::vector<std::string> decisions;  ///< the newest, in words
};

/// State that the connections of a server share.
///
/// Threads: the one that serves the connections.
struct Service final : resp::Service {
  Service(const boost::asio::any_io_executor& executor,
          std::vector<std::unique_ptr<ShardWorker>> workers, std::string password)
      : resp::Service("blowfish", "blowfish-server", AllCommands(), std::move(password)),
        shards(std::move(workers)),
        directory(std::filesystem::path(shards.front()->directory()).parent_path()),
        down(DownReplies(shards)),
        epochs(executor),
        dispatcher(commands, {.shards = shards.size(),
                              .schema = shards.front()->schema(),
                              .cursors = cursors,
                              .directory = directory,
                              .down = down}) {}

  [[nodiscard]] std::unique_ptr<resp::Batch> MakeBatch(resp::Session& session) override;
  [[nodiscard]] std::string Info(resp::Arguments sections) const override;
  [[nodiscard]] std::vector<resp::Setting> Settings() const override;

  std::vector<std::unique_ptr<ShardWorker>> shards;
  const std::string directory;
  const std::vector<std::string> down;  ///< see DownReplies
  resp::ScanCursors cursors;
  EpochTurn epochs;
  Dispatcher dispatcher;
  NavigationStats navigation;
  std::shared_ptr<const MergeSlots> merge_slots;  ///< slots of the shards; null: they have none
  std::uint64_t memory_budget = 0;
  BatchLimits batch_limits;          ///< limits of one STOUT.WRITE
  std::string data_id;               ///< see OpenDataId; empty: not known
  boost::asio::thread_pool disk{1};  ///< for ShardCommand::on_disk
};

/// Returns the state that the server of a call has.
[[nodiscard]] inline const Service& ServiceOf(const resp::Call& call) {
  return static_cast<const Service&>(call.service);
}

}  // namespace stout::blowfish
