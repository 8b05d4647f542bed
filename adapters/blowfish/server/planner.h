#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "batch.h"
#include "resp/server/command_table.h"
#include "resp/server/scan_cursors.h"
#include "resp/server/session.h"
#include "schema.h"

namespace stout::blowfish {

/// Makes of a command what shards have to do for it, and finds what is wrong with it before they
/// see it.
///
/// Threads: one.
class Planner {
 public:
  /// `table`, `schema` and `cursors` outlive it.
  Planner(const resp::CommandTable& table, std::size_t shards, const Schema& schema,
          const resp::ScanCursors& cursors)
      : table_(table), shards_(shards), schema_(schema), cursors_(cursors) {}

  /// Adds a command to a batch. `arguments` outlive the batch's replies. False: the replies up to
  /// this command must be made before the next is looked at, for it may change how.
  /// Every command after MULTI gets an error and no pieces, up to EXEC, which is one, too.
  [[nodiscard]] bool Add(std::span<const std::string_view> arguments, const resp::Session& session,
                         Batch& batch) const;

 private:
  // Sets how the command is spread and what is wrong with it.
  void Look(Request& request) const;
  void LookAtSearch(Request& request) const;
  void LookAtShard(Request& request) const;
  // Makes the pieces.
  void Split(Batch& batch, Request& request) const;
  void AddPiece(Batch& batch, Request& request, std::size_t shard, std::size_t argument) const;

  const resp::CommandTable& table_;
  const std::size_t shards_;
  const Schema& schema_;
  const resp::ScanCursors& cursors_;
};

}  // namespace stout::blowfish
