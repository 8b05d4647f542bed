#include "world/store.h"

#include "world/group_commit_store.h"
#include "world/pooled_store.h"
#include "world/shared_processors_store.h"
#include "world/units.h"

namespace stout::sim::internal {
namespace {

/// Items in a batch of another tenant. A guess: small enough to interleave with ours, large enough
/// that it is felt.
constexpr std::uint32_t kTenantItems = 20;

}  // namespace

Store::Store(const StoreSpec& spec, std::uint32_t queues, std::uint32_t servers, Service service,
             FlightPool& flights, Agenda& agenda, Random tenants)
    : service_(service),
      flights_(flights),
      agenda_(agenda),
      servers_(servers),
      half_rtt_(Microseconds(spec.rtt_us / 2)),
      tokens_(spec.tokens_per_s, spec.token_burst),
      tokens_per_batch_(spec.tokens_per_batch),
      tenant_gap_ns_(0),
      tenants_(tenants) {
  if (spec.background_load == 0) return;
  const double servers_of_queue = static_cast<double>(servers) / queues;
  tenant_gap_ns_ = service_.Cost(kTenantItems) / (spec.background_load * servers_of_queue);
  for (std::uint32_t queue = 0; queue < queues; ++queue) PlanTenant(queue, agenda_.now());
}

void Store::PlanTenant(std::uint32_t queue, TimePoint now) {
  agenda_.Push(now + Nanoseconds(tenant_gap_ns_ * tenants_.Exponential()),
               {Event::Kind::kTenant, queue});
}

void Store::Arrive(FlightId id, TimePoint now) {
  const auto items = static_cast<double>(flights_[id].batch.items.size());
  if (!tokens_.Take(tokens_per_batch_ + items, now)) return PartDropped(id, 0, now);
  Serve(id, now);
}

void Store::TenantArrives(std::uint32_t queue, TimePoint now) {
  ServeTenant(queue, kTenantItems, now);
  PlanTenant(queue, now);
}

void Store::Pause(Duration length, TimePoint now) {
  service_.PauseUntil(now + length);
  Stall(length);
}

void Store::PartDone(FlightId id, TimePoint now) {
  if (--flights_[id].parts_left > 0) return;
  agenda_.Push(now + half_rtt_, {Event::Kind::kAnswer, id});
}

void Store::PartDropped(FlightId id, LaneId partition, TimePoint now) {
  flights_[id].dropped.push_back(partition);
  PartDone(id, now);
}

std::unique_ptr<Store> MakeStore(const StoreSpec& spec, Service service, FlightPool& flights,
                                 Agenda& agenda, Random tenants) {
  if (spec.kind == StoreSpec::Kind::kGroupCommit) {
    return std::make_unique<GroupCommitStore>(spec, service, flights, agenda, tenants);
  }
  if (spec.kind == StoreSpec::Kind::kSharedProcessors) {
    return std::make_unique<SharedProcessorsStore>(spec, service, flights, agenda, tenants);
  }
  return std::make_unique<PooledStore>(spec, service, flights, agenda, tenants);
}

LaneId PartitionsOf(const StoreSpec& spec) {
  return spec.kind == StoreSpec::Kind::kPartitioned ? spec.partitions : 1;
}

}  // namespace stout::sim::internal
