#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stout/sim/recording.h"

namespace stout::sim {

/// The store that all clients share. Costs are times of one server that is otherwise idle.
struct StoreSpec {
  enum class Kind : std::uint8_t {
    kFifo,              ///< One server, one queue.
    kWorkers,           ///< `workers` servers, one queue.
    kPartitioned,       ///< `partitions` servers with a queue each; a batch is split by key hash.
    kGroupCommit,       ///< One log: batches that wait share one sync of `sync_us`.
    kSharedProcessors,  ///< `workers` processors for the store and its clients, and a log.
  };
  Kind kind = Kind::kFifo;
  double per_batch_us = 1000;
  double per_item_us = 100;
  double sync_us = 0;  ///< kGroupCommit, kSharedProcessors: one sync, shared by all that wait.
  double client_per_batch_us = 0;  ///< kSharedProcessors: a client's work on an answer, ...
  double client_per_item_us = 0;   ///< ... and for each of its items.
  std::uint32_t workers = 1;       ///< kWorkers, kSharedProcessors.
  std::uint32_t partitions = 1;    ///< kPartitioned.
  double rtt_us = 500;             ///< Network round trip, half each way.
  double jitter_us = 0;            ///< Mean of an exponential delay more on the way to the store.
  bool jitter_reorders = false;    ///< A batch may overtake an earlier one of its client.
  double noise_sigma = 0;          ///< Lognormal factor on each service, mean 1.
  double slow_share = 0;           ///< This share of the services, [0, 1), ...
  double slow_factor = 1;          ///< ... takes this multiple of the others; the mean is kept.
  double background_load = 0;      ///< Share of the capacity that other tenants take, [0, 1).
  std::uint64_t queue_limit = 0;   ///< Batches waiting beyond which one is dropped; 0: none.
  double tokens_per_s = 0;         ///< A batch that finds no token is dropped; 0: none are needed.
  double token_burst = 0;          ///< Tokens that are kept at most; 0: those of one second.
  double tokens_per_batch = 0;     ///< Tokens of a batch, added to one for each item.
  double pause_every_s = 0;    ///< The store stands still this often (mean, exponential); 0: never.
  double pause_ms = 0;         ///< For this long.
  bool pause_regular = false;  ///< The time between pauses is exact.

  bool operator==(const StoreSpec&) const = default;
};

/// The application servers, each with an engine of its own.
struct ClientSpec {
  enum class Arrivals : std::uint8_t {
    kPoisson,   ///< Open loop.
    kMmpp,      ///< Open loop, a two-state Poisson process common to all: bursts.
    kClosed,    ///< `outstanding` callers a client; each thinks, changes a key, awaits the reply.
    kRecorded,  ///< The times of `trace_s`, shared out at random; or `recording`. Repeated.
    kOnOff,     ///< Open loop, Poisson while a client is on; each turns on and off by itself.
  };
  enum class Lanes : std::uint8_t {
    kOne,           ///< A client has one lane; a partitioned store splits its batches.
    kPerPartition,  ///< A lane for each partition of the store, as the shell has.
  };
  std::uint32_t count = 1;
  Lanes lanes = Lanes::kOne;
  double total_rate_per_s = 1000;  ///< Requests of all clients that are there; open loop only.
  double spread = 1;           ///< The busiest client's rate over the idlest's, >= 1 (geometric).
  double heavy_share = 0;      ///< Share of all requests that the first client has; 0: as `spread`.
  double start_spread_s = 0;   ///< Clients start one after another within this time.
  double clock_offset_us = 0;  ///< Each client's clock is off by up to this much, either way.
  Arrivals arrivals = Arrivals::kPoisson;
  double burst_factor = 4;        ///< kMmpp: rate in a burst over the mean rate.
  double burst_share = 0.1;       ///< kMmpp: share of the time that is burst.
  double burst_ms = 100;          ///< kMmpp: mean length of a burst.
  double on_ms = 1000;            ///< kOnOff: mean time for which a client is on, exponential.
  double off_ms = 1000;           ///< kOnOff: the same for off.
  double think_us = 1000;         ///< kClosed: mean think time, exponential, and 1 us more.
  std::uint32_t outstanding = 1;  ///< kClosed: callers of each client.
  std::vector<double> trace_s;    ///< kRecorded: times of arrivals, ascending, in seconds.
  /// kRecorded: takes the place of `trace_s` and of the keys. Each change is made by client
  /// key % clients. The JSON form does not have it.
  std::shared_ptr<const Recording> recording;
  double read_fraction = 0;  ///< Share of requests that only read a key (they wait if it is dirty).

  // Limits of each client's engine. They are too high to matter unless a scenario is about them.
  // Otherwise the changes of a second at 97 % load on a slow store would not fit a server's default
  // batch, and a sweep of intervals would find the limit instead of the interval.
  std::uint64_t max_batch_items = 1'000'000;
  std::uint64_t max_batches_in_flight = 1'000'000;
  std::uint64_t max_dirty_keys = 1'000'000;  ///< And waiting replies; changes beyond are refused.
  double max_delay_s = 3600;
  double attempt_timeout_s = 3600;
  double reply_deadline_s = 3600;

  bool operator==(const ClientSpec&) const = default;
};

/// Each client has keys of its own: `count` over all clients.
struct KeySpec {
  std::uint64_t count = 1'000'000;
  double zipf = 0;  ///< Exponent; 0 is uniform.

  bool operator==(const KeySpec&) const = default;
};

/// A change at a moment of the run.
struct Step {
  double at_s = 0;
  std::optional<double> total_rate_per_s;
  std::optional<std::uint32_t> clients;  ///< number of clients present from now on
  std::optional<double> store_speed;     ///< 2: all services take half as long.

  bool operator==(const Step&) const = default;
};

/// A world to simulate; docs/SIMULATION.md has the JSON form, in which every field may be left out.
struct Scenario {
  std::string name;
  double duration_s = 10;
  double warmup_s = 2;  ///< Not measured, < duration_s.
  std::uint64_t seed = 1;
  double timeline_s = 0;  ///< Length of the timeline's slices; 0: 1 s, or what suits the duration.
  std::string policy = "natural";
  StoreSpec store;
  ClientSpec clients;
  KeySpec keys;
  std::vector<Step> steps;  ///< Ascending in time.

  bool operator==(const Scenario&) const = default;
};

}  // namespace stout::sim
