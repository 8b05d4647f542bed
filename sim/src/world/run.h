#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "stout/core/types.h"
#include "stout/sim/digest.h"
#include "stout/sim/random.h"
#include "stout/sim/result.h"
#include "stout/sim/scenario.h"
#include "stout/sim/simulate.h"
#include "world/client.h"
#include "world/event.h"
#include "world/flight.h"
#include "world/key_space.h"
#include "world/links.h"
#include "world/load.h"
#include "world/recorder.h"
#include "world/store.h"

namespace stout::sim::internal {

/// One run: the agenda, the store, the clients, and what the scenario does to them.
class Run final : public Client::Network {
 public:
  /// Objects passed by reference must outlive the run.
  Run(const Scenario& scenario, const PolicyOf& policy_of, const RunLimits& limits);

  /// Once.
  Result Execute();

 private:
  // A generator for each part of the world: what one draws does not depend on the others.
  struct Seeds {
    explicit Seeds(std::uint64_t seed) : root(seed) {}
    Random root;
    Random noise = root.Fork();
    Random tenants = root.Fork();
    Random pauses = root.Fork();
    Random load = root.Fork();
    Random clients = root.Fork();
    Random jitter = root.Fork();  // new ones come last, so that the others stay the same
    Random slow = root.Fork();
    Random starts = root.Fork();
  };

  void Prepare();
  void Handle(Event event);
  /// Lets all present clients take the arrivals that they have until then.
  void TakeArrivalsBefore(TimePoint time);
  [[nodiscard]] bool IsHopeless() const;
  [[nodiscard]] Result Report(bool gave_up);

  // Clients and their batches.
  void Wake(Client& client, TimePoint now);
  void Schedule(Client& client);
  void Send(Client& client, WriteBatch batch, TimePoint now) override;
  void Answer(FlightId id);
  [[nodiscard]] WriteResult ResultOf(const Flight& flight) const;
  void Note(TimePoint now, std::uint32_t client, std::size_t what);

  // State that changes.
  void Take(const Step& step);
  void SetClients(std::uint32_t count);
  void Join(std::uint32_t place);
  void Leave(Client& client);
  void SpreadRates();
  void TurnBurst();
  void TurnPlace(std::uint32_t place);
  void PlanPause(TimePoint from);
  void Pause();

  const Scenario& scenario_;
  const PolicyOf& policy_of_;
  const RunLimits& limits_;
  const TimePoint end_;
  const LaneId partitions_;
  const std::vector<KeySpace> keys_;  // by place

  Seeds seeds_;
  Agenda agenda_;
  Recorder recorder_;
  Digest digest_;
  FlightPool flights_;
  std::unique_ptr<Store> store_;
  Links links_;
  Load load_;
  std::vector<std::unique_ptr<Client>> clients_;  // by id; those that left, too
  std::vector<std::uint32_t> places_;             // whose each place is now
};

}  // namespace stout::sim::internal
