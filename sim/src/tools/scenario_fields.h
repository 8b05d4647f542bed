#pragma once

// The fields of a scenario: see fields.h. The file format is documented in docs/SIMULATION.md,
// whose tables and schema are made from this.

#include <array>
#include <span>
#include <string_view>

#include "fields.h"
#include "stout/sim/scenario.h"

namespace stout::sim {

inline std::span<const std::string_view> NamesOf(StoreSpec::Kind) {
  static constexpr std::array<std::string_view, 5> kNames = {"fifo", "workers", "partitioned",
                                                             "group_commit", "shared_processors"};
  return kNames;
}

inline std::span<const std::string_view> NamesOf(ClientSpec::Arrivals) {
  static constexpr std::array<std::string_view, 5> kNames = {"poisson", "mmpp", "closed",
                                                             "recorded", "on_off"};
  return kNames;
}

inline std::span<const std::string_view> NamesOf(ClientSpec::Lanes) {
  static constexpr std::array<std::string_view, 2> kNames = {"one", "per_partition"};
  return kNames;
}

namespace internal {
/// Open loop: the clients' rate is a parameter.
inline bool HasRate(ClientSpec::Arrivals arrivals) {
  return arrivals != ClientSpec::Arrivals::kClosed && arrivals != ClientSpec::Arrivals::kRecorded;
}
}  // namespace internal

// A run is counted in nanoseconds: shorter times are none, and would let it stand still; longer
// ones than these end after it.
inline constexpr internal::Range kTimeUs = internal::Between(0, 1e9);
inline constexpr internal::Range kRate{.min = 0, .max = 1e9, .above_min = true};
/// An engine takes some 70 kB: more clients would fill the memory of a desktop.
inline constexpr internal::Range kClientCounts = internal::Between(1, 10'000);

template <typename Visitor, internal::SameAs<StoreSpec> Store>
void Describe(Visitor& visit, Store& store) {
  using namespace internal;  // NOLINT(google-build-using-namespace)
  visit("kind", store.kind, kAny,
        "fifo: one server; workers: servers with one queue; partitioned: servers with a queue "
        "each; group_commit: one log whose syncs are shared; shared_processors: workers that "
        "also do the clients' work, and a log");
  visit("per_batch_us", store.per_batch_us, kTimeUs, "service time of a batch, without its items");
  visit("per_item_us", store.per_item_us, Between(0.001, 1e9),
        "service time of each item of a batch");
  visit("sync_us", store.sync_us, kTimeUs,
        "group_commit, shared_processors: one sync, shared by all batches that wait for it");
  visit("client_per_batch_us", store.client_per_batch_us, kTimeUs,
        "shared_processors: processor time in which a client handles the answer to a batch");
  visit("client_per_item_us", store.client_per_item_us, kTimeUs,
        "shared_processors: the same for each item of the batch");
  visit("workers", store.workers, Between(1, 100'000),
        "workers, shared_processors: number of servers that share the queue");
  visit("partitions", store.partitions, Between(1, 100'000),
        "partitioned: number of servers, each with a queue; a batch is split by the hash of its "
        "keys");
  visit("rtt_us", store.rtt_us, kTimeUs, "network round trip, half each way");
  visit("jitter_us", store.jitter_us, kTimeUs,
        "mean of a further delay of each batch on its way to the store, exponential");
  visit("jitter_reorders", store.jitter_reorders, kAny,
        "a batch may overtake an earlier one of its client; false: they stay in order, as on one "
        "connection");
  visit("noise_sigma", store.noise_sigma, Between(0, 3),
        "each service takes a lognormal factor of mean 1 and this sigma");
  visit("slow_share", store.slow_share, Range{.min = 0, .max = 1, .below_max = true},
        "share of the services that are slow");
  visit("slow_factor", store.slow_factor, Between(1, 1e6),
        "time of a slow service over that of another; the mean of all stays the same");
  visit("background_load", store.background_load, Range{.min = 0, .max = 1, .below_max = true},
        "share of the capacity that other tenants take");
  visit("queue_limit", store.queue_limit, AtLeast(0),
        "maximum waiting batches; a further one is refused as overload; 0: no limit");
  visit("tokens_per_s", store.tokens_per_s, Between(0, 1e9),
        "tokens that the store grants; a batch that finds none is refused as overload; 0: batches "
        "need no tokens");
  visit("token_burst", store.token_burst, Between(0, 1e12),
        "maximum tokens that are kept for later; 0: those of one second");
  visit("tokens_per_batch", store.tokens_per_batch, Between(0, 1e9),
        "tokens that a batch takes, beside one for each item");
  visit("pause_every_s", store.pause_every_s, Between(0, 1e6),
        "mean time between pauses of the store, exponential; 0: no pauses");
  visit("pause_ms", store.pause_ms, Between(0, 1e9), "length of a pause");
  visit("pause_regular", store.pause_regular, kAny,
        "the time from the end of a pause to the next is exactly pause_every_s");
}

template <typename Visitor, internal::SameAs<ClientSpec> Clients>
void Describe(Visitor& visit, Clients& clients) {
  using namespace internal;  // NOLINT(google-build-using-namespace)
  constexpr Range kTimeLimit{.min = 0, .max = 1e6, .above_min = true};
  visit("count", clients.count, kClientCounts, "application servers");
  visit("lanes", clients.lanes, kAny,
        "lanes of a client: one, whose batches a partitioned store splits, or one per partition");
  visit("total_rate_per_s", clients.total_rate_per_s, kRate,
        "requests of all clients that are present; open loop only");
  visit("spread", clients.spread, Between(1, 1e6),
        "rate of the busiest client over the rate of the idlest; geometric in between");
  visit("heavy_share", clients.heavy_share, Range{.min = 0, .max = 1, .below_max = true},
        "share of all requests that the first client has; the others share the rest; 0: as spread");
  visit("start_spread_s", clients.start_spread_s, Between(0, 1e6),
        "each client starts at a random time up to this; those that are present have the whole "
        "rate");
  visit("clock_offset_us", clients.clock_offset_us, Between(0, 1e12),
        "maximum error of a client's clock, in either direction");
  visit("arrivals", clients.arrivals, kAny,
        "poisson: open loop, at random; mmpp: open loop, in bursts; closed: callers that wait for "
        "their replies; recorded: the times of trace_s; on_off: open loop, each client is on and "
        "off in turn");
  visit("burst_factor", clients.burst_factor, AtLeast(1),
        "mmpp: rate in a burst over the mean rate");
  visit("burst_share", clients.burst_share,
        Range{.min = 0, .max = 1, .above_min = true, .below_max = true},
        "mmpp: share of the time that is burst");
  visit("burst_ms", clients.burst_ms, Between(0.001, 1e9), "mmpp: mean length of a burst");
  visit("on_ms", clients.on_ms, Between(0.001, 1e9),
        "on_off: mean time for which a client is on, exponential; its rate is then higher, so that "
        "the mean rate stays");
  visit("off_ms", clients.off_ms, Between(0, 1e9),
        "on_off: mean time for which a client is off, exponential");
  visit("think_us", clients.think_us, kTimeUs, "closed: mean think time, exponential");
  visit("outstanding", clients.outstanding, Between(1, 1'000'000),
        "closed: callers of each client");
  visit("trace_s", clients.trace_s, Between(0, 1e6),
        "recorded: times of arrivals, ascending; they repeat, and each arrives at a random client");
  visit("read_fraction", clients.read_fraction, Between(0, 1),
        "share of requests that only read a key, and wait if it is dirty");
  visit("max_batch_items", clients.max_batch_items, AtLeast(1),
        "maximum items of a batch; this and the next five are limits of each client's engine");
  visit("max_batches_in_flight", clients.max_batches_in_flight, AtLeast(1),
        "maximum batches that wait for their answer");
  visit("max_dirty_keys", clients.max_dirty_keys, Between(1, 2147483647),
        "maximum keys that are not durable, and maximum replies that wait; further changes are "
        "refused");
  visit("max_delay_s", clients.max_delay_s, kTimeLimit,
        "a change older than this does not wait for the policy");
  visit("attempt_timeout_s", clients.attempt_timeout_s, kTimeLimit,
        "a batch without an answer within this time is sent again");
  visit("reply_deadline_s", clients.reply_deadline_s, kTimeLimit,
        "a reply that has waited for this time fails");
}

template <typename Visitor, internal::SameAs<KeySpec> Keys>
void Describe(Visitor& visit, Keys& keys) {
  using namespace internal;  // NOLINT(google-build-using-namespace)
  visit("count", keys.count, Between(1, 1e9), "keys of all clients; each has keys of its own");
  visit("zipf", keys.zipf, Between(0, 5), "Zipf exponent of the keys' popularity; 0: uniform");
}

template <typename Visitor, internal::SameAs<Step> S>
void Describe(Visitor& visit, S& step) {
  using namespace internal;  // NOLINT(google-build-using-namespace)
  visit("at_s", step.at_s, AtLeast(0), "time of the step; steps are in order of time");
  visit("total_rate_per_s", step.total_rate_per_s, kRate, "the new rate of all clients");
  visit("clients", step.clients, kClientCounts,
        "number of clients that are present from now on; other clients leave or join");
  visit("store_speed", step.store_speed, Between(1e-6, 1e6),
        "speed of the store from now on; 2: every service takes half the time");
}

template <typename Visitor, internal::SameAs<Scenario> S>
void Describe(Visitor& visit, S& scenario) {
  using namespace internal;  // NOLINT(google-build-using-namespace)
  visit("name", scenario.name, kAny, "name in tables and plots; default: the file's name");
  visit("duration_s", scenario.duration_s, Range{.min = 0, .max = 1e6, .above_min = true},
        "simulated time, warm-up included");
  visit("warmup_s", scenario.warmup_s, AtLeast(0), "not measured; less than duration_s");
  visit("seed", scenario.seed, AtLeast(0), "same seed, same run, event for event");
  visit("timeline_s", scenario.timeline_s, AtLeast(0),
        "length of a slice of the timeline; 0: 1 s, or a length that gives 100 to 300 slices");
  visit("policy", scenario.policy, kAny, "when to send batches, as --policy");
  visit("store", scenario.store, kAny, "the store that all clients share");
  visit("clients", scenario.clients, kAny, "the application servers");
  visit("keys", scenario.keys, kAny, "the keys that clients change");
  visit("steps", scenario.steps, kAny, "changes during the run; each step changes one thing");
}

}  // namespace stout::sim
