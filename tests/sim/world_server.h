#pragma once

#include <string>
#include <vector>

#include "stout/core/engine.h"
#include "tests/sim/world.h"

namespace stout::sim {

/// Shows a lane's samples to the witness on their way to its policy.
struct Watched {
  Policy policy;
  Witness* witness;

  [[nodiscard]] Decision Start() const { return policy.Start(); }
  Decision Observe(const BatchSample& sample) {
    const Decision decision = policy.Observe(sample);
    witness->OnSample(sample, decision);
    return decision;
  }
  [[nodiscard]] std::string Name() const { return policy.Name(); }
};

inline EngineOptions Watch(EngineOptions options, Witness& witness) {
  options.lane.write_policy = Watched{options.lane.write_policy, &witness};
  return options;
}

inline std::vector<Stamp> StampsOf(const StoreModel& store, std::uint32_t keys) {
  std::vector<Stamp> stamps;
  for (KeyId key = 0; key < keys; ++key) stamps.push_back(store.row(key).stamp);
  return stamps;
}

/// The application's memory, as the engine sees it.
class World::Source final : public StateSource {
 public:
  explicit Source(World& world) : world_(world) {}

  Serialized Serialize(KeyView key, std::string& value) noexcept override {
    const InMemory& memory = world_.memory_[KeyOf(key)];
    if (!memory.loaded) world_.verdict_.Fail("asks for the state of a key that never changed");
    if (!value.empty()) world_.verdict_.Fail("asks for a state in a buffer that is not empty");
    if (memory.change.unserialisable) return Serialized::kFailed;
    if (memory.change.deleted) return Serialized::kAbsent;
    value = memory.change.value;
    return Serialized::kValue;
  }

 private:
  World& world_;
};

/// One incarnation of the server.
struct World::Server {
  Server(World& world, Epoch epoch)
      : witness(world.options_, epoch, world.memory_, StampsOf(world.store_, world.options_.keys),
                world.verdict_),
        engine(Watch(world.options_.engine, witness), world.options_.lanes, epoch),
        source(world) {}

  Witness witness;
  Engine engine;
  Source source;
  bool leaving = false;  // will be rebooted
};

}  // namespace stout::sim
