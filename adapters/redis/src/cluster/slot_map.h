#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "protocol.h"
#include "stout/adapters/hash_slot.h"
#include "stout/adapters/redis_options.h"

namespace stout::redis {

// The owner of each slot, as one node of the cluster saw it.
class SlotMap {
 public:
  struct Master {
    RedisAddress address;
    std::vector<RedisAddress> replicas;
  };

  SlotMap() { owners_.fill(kNobody); }

  // Reads the answer to CLUSTER SLOTS. Returns nullopt for any other answer. `asked` as in
  // ParseRedirection.
  [[nodiscard]] static std::optional<SlotMap> Parse(const Reply& reply, const RedisAddress& asked);

  // Null: nobody serves it.
  [[nodiscard]] const RedisAddress* OwnerOf(Slot slot) const;
  // The place of the slot's owner in masters(); masters().size() if nobody serves it.
  [[nodiscard]] std::size_t OwnerIndexOf(Slot slot) const;
  // The last slot of each range of slots that one master serves, or nobody.
  [[nodiscard]] std::vector<Slot> RangeEnds() const;
  // Returns true if a slot has an owner here, and another one in `before`.
  [[nodiscard]] bool MovedSince(const SlotMap& before) const;
  // Returns true if each slot has the same owner in both.
  [[nodiscard]] bool SameOwners(const SlotMap& other) const;
  // Applies a MOVED answer.
  void Move(Slot slot, const RedisAddress& to);

  // In the order of the first of their slots, the same in all that see the same cluster.
  [[nodiscard]] const std::vector<Master>& masters() const { return masters_; }
  [[nodiscard]] std::size_t slots_served() const;
  // Masters first, then replicas.
  [[nodiscard]] std::vector<RedisAddress> Nodes() const;

 private:
  static constexpr std::uint16_t kNobody = 0xFFFF;

  std::uint16_t IndexOf(const RedisAddress& master);

  std::vector<Master> masters_;
  std::array<std::uint16_t, kSlots> owners_;
};

}  // namespace stout::redis
