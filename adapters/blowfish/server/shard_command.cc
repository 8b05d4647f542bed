#include "blowfish/server/shard_command.h"

#include <vector>

namespace stout::blowfish {
namespace {

// A row is found by its number, which is its place among all rows, from 1.
struct RowTable {
  RowTable() {
    for (const auto list : {BackupCommands(), ReadCommands(), WriteCommands(), SearchCommands(),
                            SettingCommands(), StoutCommands()}) {
      for (const ShardCommand& row : list) {
        rows.push_back(&row);
        descriptions.push_back(row.command);
        descriptions.back().id = static_cast<std::uint8_t>(rows.size());
      }
    }
  }

  std::vector<const ShardCommand*> rows;
  std::vector<resp::Command> descriptions;
};

const RowTable& Rows() {
  static const RowTable table;
  return table;
}

}  // namespace

std::span<const resp::Command> AllCommands() { return Rows().descriptions; }

const ShardCommand* RowOf(const resp::Command& command) {
  return command.id == 0 ? nullptr : Rows().rows[command.id - std::size_t{1}];
}

}  // namespace stout::blowfish
