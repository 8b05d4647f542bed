#include "queueing.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stout::sim::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMicrosecond = 1e-6;

/// Mean wait in M/G/c by Sakasegawa's approximation; exact for c = 1 (Pollaczek and Khinchine).
double MeanWait(double service, double utilisation, double servers, double variation_squared) {
  if (utilisation >= 1) return kInfinity;
  const double power = std::sqrt(2 * (servers + 1)) - 1;
  return (1 + variation_squared) / 2 * service * std::pow(utilisation, power) /
         (servers * (1 - utilisation));
}

/// Changes per second of one client.
double ClientRate(const Scenario& scenario) {
  const ClientSpec& clients = scenario.clients;
  double total = clients.total_rate_per_s;
  if (clients.arrivals == ClientSpec::Arrivals::kClosed) {
    const double cycle = clients.think_us * kMicrosecond + UnloadedLatency(scenario.store);
    total =
        static_cast<double>(clients.count) * clients.outstanding / std::max(cycle, kMicrosecond);
  } else if (clients.arrivals == ClientSpec::Arrivals::kRecorded) {
    total = clients.recording != nullptr
                ? static_cast<double>(clients.recording->changes.size()) /
                      std::chrono::duration<double>(clients.recording->Length()).count()
                : static_cast<double>(clients.trace_s.size()) / clients.trace_s.back();
  }
  return total * (1 - clients.read_fraction) / clients.count;
}

/// Processor time of a client for the answer to a batch, in microseconds.
double ClientWork(const StoreSpec& store, double items) {
  return store.client_per_batch_us + items * store.client_per_item_us;
}

/// Variance of a service time over its mean's square.
double VariationSquared(const StoreSpec& store) {
  const double noise = std::expm1(store.noise_sigma * store.noise_sigma);
  if (store.slow_share == 0) return noise;
  const double p = store.slow_share;
  const double f = store.slow_factor;
  return (1 + noise) * (1 - p + p * f * f) / std::pow(1 - p + p * f, 2) - 1;
}

/// Mean time in the store of batches of `items`, `batches` of which arrive each second.
double StoreLatency(const StoreSpec& store, double batches, double items) {
  const double per_batch = store.per_batch_us * kMicrosecond;
  const double per_item = store.per_item_us * kMicrosecond;
  const double variation_squared = VariationSquared(store);
  const double servers = ServersOf(store);
  if (store.tokens_per_s > 0 && batches * (store.tokens_per_batch + items) >= store.tokens_per_s) {
    return kInfinity;
  }
  if (store.kind == StoreSpec::Kind::kSharedProcessors) {
    const double work = per_batch + per_item * items + ClientWork(store, items) * kMicrosecond;
    const double utilisation = store.background_load + batches * work / servers;
    // It waits for a processor twice, and for the sync under way and its own.
    return work + 2 * MeanWait(work / 2, utilisation, servers, variation_squared) +
           1.5 * store.sync_us * kMicrosecond;
  }
  if (store.kind == StoreSpec::Kind::kGroupCommit) {
    const double service = per_batch + per_item * items;
    const double utilisation = store.background_load + batches * service;
    // A batch waits for the sync under way, half on the mean, and for its own.
    const double round = (store.sync_us * kMicrosecond + service) / (1 - utilisation);
    return utilisation < 1 ? 1.5 * round : kInfinity;
  }
  // A batch that is split is as many smaller ones, each for its own server.
  const double parts =
      store.kind == StoreSpec::Kind::kPartitioned ? std::min(servers, std::max(items, 1.0)) : 1;
  const double service = per_batch + per_item * items / parts;
  const double utilisation = store.background_load + batches * parts * service / servers;
  const double queue_servers = store.kind == StoreSpec::Kind::kWorkers ? servers : 1;
  return service + MeanWait(service, utilisation, queue_servers, variation_squared);
}

}  // namespace

std::uint32_t ServersOf(const StoreSpec& store) {
  switch (store.kind) {
    case StoreSpec::Kind::kWorkers:
    case StoreSpec::Kind::kSharedProcessors:
      return store.workers;
    case StoreSpec::Kind::kPartitioned:
      return store.partitions;
    case StoreSpec::Kind::kFifo:
    case StoreSpec::Kind::kGroupCommit:
      break;
  }
  return 1;
}

double ServiceCapacity(const StoreSpec& store) {
  const double per_item_us = store.per_item_us + store.client_per_item_us;
  return ServersOf(store) / (per_item_us * kMicrosecond) * (1 - store.background_load);
}

double ItemCapacity(const StoreSpec& store) {
  const double capacity = ServiceCapacity(store);
  return store.tokens_per_s > 0 ? std::min(capacity, store.tokens_per_s) : capacity;
}

double RequestRate(const ClientSpec& clients, double changes_per_s) {
  return changes_per_s / (1 - clients.read_fraction);
}

double UnloadedLatency(const StoreSpec& store) {
  const bool syncs = store.kind == StoreSpec::Kind::kGroupCommit ||
                     store.kind == StoreSpec::Kind::kSharedProcessors;
  const double sync = syncs ? store.sync_us : 0;
  return (store.rtt_us + store.jitter_us + store.per_batch_us + store.per_item_us + sync +
          ClientWork(store, 1)) *
         kMicrosecond;
}

double ExpectedLatency(const Scenario& scenario, double interval) {
  const double rate = ClientRate(scenario);
  // The next change after an interval without any goes at once: sends are 1/rate further apart.
  const double items = 1 + rate * interval;
  const double wait = rate * interval / items * interval / 2;
  return wait + (scenario.store.rtt_us + scenario.store.jitter_us) * kMicrosecond +
         StoreLatency(scenario.store, scenario.clients.count * rate / items, items);
}

}  // namespace stout::sim::internal
