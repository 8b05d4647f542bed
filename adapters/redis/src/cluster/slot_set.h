#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stout/adapters/hash_slot.h"

namespace stout::redis {

using SlotSet = std::bitset<kSlots>;

// As CLUSTER NODES has it: "0-5460 5462".
[[nodiscard]] std::string PrintSlots(const SlotSet& slots);
// Returns nullopt for any other text.
[[nodiscard]] std::optional<SlotSet> ParseSlots(std::string_view text);

// A node's view of itself.
struct NodeView {
  std::string config_epoch;  // grows when the node takes over a slot
  SlotSet settled;           // served by the node, and not about to move
};
// Reads the answer to CLUSTER NODES. Returns nullopt for any other text.
[[nodiscard]] std::optional<NodeView> ParseNodeView(std::string_view nodes);

// The nodes that may take over slots, present or away.
struct Successors {
  std::size_t most = 0;  // replicas of one master
  std::size_t all = 0;   // replicas, and failed masters without slots, which come back as replicas
};
// Reads the answer to CLUSTER NODES. Returns nullopt for any other text.
[[nodiscard]] std::optional<Successors> CountSuccessors(std::string_view nodes);

}  // namespace stout::redis
