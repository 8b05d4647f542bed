#include "stout/core/policy/full_batch.h"

#include <algorithm>

#include "stout/core/policy.h"

namespace stout::inline v1 {
namespace {

constexpr double kHardlyQueued = 0.3;  // of a service
constexpr double kStep = 0.1;          // change of the size by one answer
constexpr double kMin = 32;            // items
constexpr double kMinAlone = 4;        // items, if this lane uses nearly all of the store's time
constexpr std::size_t kMaxFullInFlight = 64;
// A full batch costs at least this part of the latency. If batches queue, they therefore grow with
// the queue, as in natural batching. In that case more batches would gain nothing, or the known
// costs are wrong. Measured: 0.35 loses capacity on noisy stores.
constexpr double kLatency = 0.5;

}  // namespace

void FullBatch::Resize(double queue, double weight) {
  latencies_ *= 1 + (queue < kHardlyQueued ? -kStep : kStep) * weight;
  latencies_ = std::clamp(latencies_, 1.0, largest_);
}

void FullBatch::Open() { window_ = std::min(window_ + 1, kMaxFullInFlight); }

std::size_t FullBatch::Items(const StoreEstimate& store, double latency, double alone) const {
  if (store.pairs() < 1 || store.cost().per_item() <= 0) return Decision::kUnlimited;
  const double seconds = std::max(latencies_ * store.IdleLatency(1), kLatency * latency);
  const double least = alone * kMinAlone + (1 - alone) * kMin;
  const double items = std::max(least, seconds / store.cost().per_item());
  return items < 1e9 ? static_cast<std::size_t>(items) : Decision::kUnlimited;
}

}  // namespace stout::inline v1
