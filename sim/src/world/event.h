#pragma once

#include <cstdint>

#include "stout/sim/event_queue.h"

namespace stout::sim::internal {

/// An entry of the agenda of a run. Arrivals of single requests are not on it: a client takes them
/// in when they can have an effect (see Client).
struct Event {
  enum class Kind : std::uint8_t {
    kWake,    ///< A client has something to do.
    kArrive,  ///< A batch reaches the store.
    kServed,  ///< A server of the store is done with what it is at.
    kAnswer,  ///< The answer to a batch reaches its client.
    kTenant,  ///< Another tenant's batch reaches a queue of the store.
    kPause,   ///< The store stands still.
    kBurst,   ///< A burst begins or ends.
    kStep,    ///< A step of the scenario.
    kTurn,    ///< A client turns on or off.
    kStart,   ///< The next client starts.
  };
  Kind kind;
  std::uint32_t index = 0;  ///< of the client, flight, server, queue, step or place
};

using Agenda = EventQueue<Event>;

}  // namespace stout::sim::internal
