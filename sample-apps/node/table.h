#pragma once

#include <optional>
#include <string>

#include "node/cluster.h"
#include "node/deadlines.h"
#include "node/key_count.h"
#include "node/ranges.h"
#include "resp/server/scan_cursors.h"
#include "stout/schema.h"
#include "stout/store.h"

namespace stout::node {

/// Keys of their own, in ranges of their own. A node has a default table, whose name is empty. The
/// nodes of a deployment with members may have more (STOUT.TABLE).
///
/// Threads: `dropped`, `cursors` and `schema` the connections', the other members as stated there.
struct Table {
  std::string name;
  std::string id{};        ///< of its creation; empty: the default table
  Ranges& ranges;          ///< outlives it, as do the next two
  Store& store;            ///< lists the keys
  Cluster* const cluster;  ///< null if the node is alone
  bool dropped = false;    ///< no command is served any more
  resp::ScanCursors cursors{};
  KeyCount key_count{};
  Deadlines deadlines{};
  std::optional<Schema> schema{};  ///< of the values, as a store that searches had it last
};

}  // namespace stout::node
