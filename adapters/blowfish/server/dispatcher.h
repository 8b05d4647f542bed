#pragma once

#include <cstddef>

#include "blowfish/server/batch.h"
#include "blowfish/server/shard_command.h"
#include "resp/server/command_table.h"
#include "resp/server/session.h"

namespace stout::blowfish {

/// Makes of commands what shards have to do for them, and finds what is wrong with commands before
/// a shard sees them. This is the only place that knows which shards are down: a request
/// that needs one of them is refused here, so that no shard begins it.
///
/// Threads: one.
class Dispatcher {
 public:
  /// `table` and the parts of `context` outlive it.
  Dispatcher(const resp::CommandTable& table, const ParseContext& context)
      : table_(table), context_(context) {}

  /// Adds a command to a batch. `arguments` outlive the batch's replies. Returns false if the
  /// replies up to this command must be made before the next is looked at, for it may change how.
  [[nodiscard]] bool Add(resp::Arguments arguments, const resp::Session& session,
                         Batch& batch) const;

 private:
  const resp::CommandTable& table_;
  const ParseContext context_;
};

}  // namespace stout::blowfish
