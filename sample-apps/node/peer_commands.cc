#include <cstdint>
#include <span>

#include "node/commands.h"

namespace stout::node {
namespace {

void ReplyStates(KeyTurn& turn) {
  auto& states = turn.request.states;
  states.push_back({turn.stamp, turn.value.has_value()});
  if (!turn.last()) return;
  turn.reply.ArrayHeader(3 * states.size());
  for (const auto& [stamp, exists] : states) {
    turn.reply.Integer(static_cast<std::int64_t>(stamp.epoch));
    turn.reply.Integer(static_cast<std::int64_t>(stamp.version));
    turn.reply.Integer(exists ? 1 : 0);
  }
}

using enum CommandId::Number;
using enum resp::CommandFlag::Bits;

// Nodes send these to each other: see forward.h.
// clang-format off
constexpr KeyCommand kPeerRows[] = {
    {{kStoutExec, "stout.exec", -2, kWrite | kNoMulti, {}, 0,
      "cluster", "0.1.0", "Runs a transaction that another node forwards."}},
    {{kStoutPeer, "stout.peer", 2, kNoMulti, {}, 0,
      "cluster", "0.1.0", "Says that the commands that follow come from another node."}},
    {{kStoutStates, "stout.states", -2, kReadonly, {1, -1, 1}, 0,
      "cluster", "0.1.0", "Returns the epochs and versions of keys, and whether they exist."}, nullptr, ReplyStates},
};
// clang-format on

}  // namespace

std::span<const KeyCommand> PeerCommands() { return kPeerRows; }

}  // namespace stout::node
