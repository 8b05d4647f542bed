#include "node/commands.h"

#include <array>
#include <vector>

namespace stout::node {
namespace {

struct RowTable {
  RowTable() : descriptions(ClusterCommands().begin(), ClusterCommands().end()) {
    for (const auto rows :
         {AllKeysCommands(), DataletRows(), ExpiryCommands(), KeyspaceCommands(), LevelRows(),
          OperationRows(), PeerCommands(), RangeScanRows(), SearchRows(), StringCommands(),
          TableRows(), TenantRows(), TransactionCommands()}) {
      for (const KeyCommand& row : rows) {
        descriptions.push_back(row.command);
        by_id[row.command.id] = &row;
      }
    }
  }

  std::vector<resp::Command> descriptions;
  std::array<const KeyCommand*, 256> by_id{};
};

const RowTable& Rows() {
  static const RowTable table;
  return table;
}

}  // namespace

std::span<const resp::Command> AllCommands() { return Rows().descriptions; }

bool IsOnAllKeys(const resp::Command& command) {
  const std::uint8_t id = command.id;
  return id == CommandId::kDbsize || id == CommandId::kFlushall || id == CommandId::kFlushdb ||
         id == CommandId::kScan;
}

const KeyCommand& RowOf(const resp::Command& command) { return *Rows().by_id[command.id]; }

}  // namespace stout::node
