#include "node/commands.h"

#include <array>
#include <initializer_list>
#include <vector>

namespace stout::node {
namespace {

struct RowTable {
  RowTable() : descriptions(ClusterCommands().begin(), ClusterCommands().end()) {
    Add(Runner::kRouter, {ExpiryCommands(), KeyspaceCommands(), PeerCommands(), RangePageRows(),
                          StringCommands(), TransactionCommands()});
    Add(Runner::kKeyWalk, {AllKeysCommands()});
    Add(Runner::kValueSearch, {SearchRows()});
    Add(Runner::kRangeScan, {RangeScanRows()});
    Add(Runner::kDatalet, {DataletRows()});
    Add(Runner::kOperations, {OperationRows()});
    Add(Runner::kTables, {TableRows()});
    Add(Runner::kLevels, {LevelRows()});
    Add(Runner::kTenants, {TenantRows()});
  }

  void Add(Runner runner, std::initializer_list<std::span<const KeyCommand>> groups) {
    for (const auto rows : groups) {
      for (const KeyCommand& row : rows) {
        descriptions.push_back(row.command);
        by_id[row.command.id] = &row;
        runner_by_id[row.command.id] = runner;
      }
    }
  }

  std::vector<resp::Command> descriptions;
  std::array<const KeyCommand*, 256> by_id{};
  std::array<Runner, 256> runner_by_id{};
};

const RowTable& Rows() {
  static const RowTable table;
  return table;
}

}  // namespace

std::span<const resp::Command> AllCommands() { return Rows().descriptions; }

const KeyCommand& RowOf(const resp::Command& command) { return *Rows().by_id[command.id]; }

Runner RunnerOf(const resp::Command& command) { return Rows().runner_by_id[command.id]; }

}  // namespace stout::node
