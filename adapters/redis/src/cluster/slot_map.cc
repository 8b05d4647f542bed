#include "cluster/slot_map.h"

#include <algorithm>

namespace stout::redis {
namespace {

// Reads [ip, port, id, ...]. Returns nullopt if the node has no address.
std::optional<RedisAddress> ParseNode(const Reply& reply, const RedisAddress& asked) {
  if (reply.elements.size() < 2 || reply.elements[1].kind != Reply::Kind::kInteger) {
    return std::nullopt;
  }
  const std::string& host = reply.elements[0].text;
  const std::int64_t port = reply.elements[1].integer;
  if (host == "?" || port <= 0 || port > 0xFFFF) return std::nullopt;
  return RedisAddress{.host = host.empty() ? asked.host : host,
                      .port = static_cast<std::uint16_t>(port)};
}

}  // namespace

// [[first, last, master, replica...]...]
std::optional<SlotMap> SlotMap::Parse(const Reply& reply, const RedisAddress& asked) {
  if (reply.kind != Reply::Kind::kArray) return std::nullopt;
  SlotMap map;
  // By slots: a node tells them in the order in which it came to know the others.
  std::vector<const Reply*> ranges;
  for (const Reply& range : reply.elements) {
    if (range.elements.size() < 3 || range.elements[0].integer < 0 ||
        range.elements[0].integer > range.elements[1].integer ||
        range.elements[1].integer >= static_cast<std::int64_t>(kSlots)) {
      return std::nullopt;
    }
    ranges.push_back(&range);
  }
  std::sort(ranges.begin(), ranges.end(), [](const Reply* a, const Reply* b) {
    return a->elements[0].integer < b->elements[0].integer;
  });
  for (const Reply* range : ranges) {
    const auto master = ParseNode(range->elements[2], asked);
    if (!master) continue;
    const std::uint16_t owner = map.IndexOf(*master);
    std::fill(map.owners_.begin() + range->elements[0].integer,
              map.owners_.begin() + range->elements[1].integer + 1, owner);
    // Each of a master's ranges names all its replicas.
    std::vector<RedisAddress>& replicas = map.masters_[owner].replicas;
    replicas.clear();
    for (std::size_t i = 3; i < range->elements.size(); ++i) {
      if (const auto node = ParseNode(range->elements[i], asked)) replicas.push_back(*node);
    }
  }
  return map;
}

const RedisAddress* SlotMap::OwnerOf(Slot slot) const {
  return owners_[slot] == kNobody ? nullptr : &masters_[owners_[slot]].address;
}

std::size_t SlotMap::OwnerIndexOf(Slot slot) const {
  return owners_[slot] == kNobody ? masters_.size() : owners_[slot];
}

std::vector<Slot> SlotMap::RangeEnds() const {
  std::vector<Slot> ends;
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    if (slot + 1 == kSlots || owners_[slot] != owners_[slot + 1]) {
      ends.push_back(static_cast<Slot>(slot));
    }
  }
  return ends;
}

bool SlotMap::SameOwners(const SlotMap& other) const {
  for (std::size_t s = 0; s < kSlots; ++s) {
    const RedisAddress* const mine = OwnerOf(static_cast<Slot>(s));
    const RedisAddress* const its = other.OwnerOf(static_cast<Slot>(s));
    const bool same = mine == nullptr || its == nullptr ? mine == its : *mine == *its;
    if (!same) return false;
  }
  return true;
}

bool SlotMap::MovedSince(const SlotMap& before) const {
  for (std::size_t s = 0; s < kSlots; ++s) {
    const RedisAddress* const now = OwnerOf(static_cast<Slot>(s));
    const RedisAddress* const then = before.OwnerOf(static_cast<Slot>(s));
    if (now != nullptr && (then == nullptr || *then != *now)) return true;
  }
  return false;
}

void SlotMap::Move(Slot slot, const RedisAddress& to) { owners_[slot] = IndexOf(to); }

std::size_t SlotMap::slots_served() const {
  return kSlots - static_cast<std::size_t>(std::count(owners_.begin(), owners_.end(), kNobody));
}

std::vector<RedisAddress> SlotMap::Nodes() const {
  std::vector<RedisAddress> nodes;
  for (const Master& master : masters_) nodes.push_back(master.address);
  for (const Master& master : masters_) {
    nodes.insert(nodes.end(), master.replicas.begin(), master.replicas.end());
  }
  return nodes;
}

std::uint16_t SlotMap::IndexOf(const RedisAddress& master) {
  const auto found = std::find_if(masters_.begin(), masters_.end(),
                                  [&](const Master& m) { return m.address == master; });
  const auto index = static_cast<std::uint16_t>(found - masters_.begin());
  if (found == masters_.end()) masters_.push_back({master, {}});
  return index;
}

}  // namespace stout::redis
