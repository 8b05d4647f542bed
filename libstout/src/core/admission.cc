#include "stout/core/admission.h"

#include <algorithm>
#include <cmath>

namespace stout::inline v1 {
namespace {

// A tenant is active until the other tenants have sent this number of requests per key of the
// cache. Guess: if they were admitted, the cache has then forgotten the tenant.
constexpr double kIdle = 4;
// The weight of one key in the mean size of a key. Guess.
constexpr double kSizeWeight = 1.0 / 64;
// Reads of a tenant with a smaller share yield. Guess.
constexpr double kYields = .5;
// A tenant with at least this hit rate has few misses, so that its look-ups must be cheap. Guess.
constexpr double kHits = .5;

}  // namespace

std::string_view NameOf(AdmissionReason reason) {
  switch (reason) {
    case AdmissionReason::kUnknown:
      return "unknown";
    case AdmissionReason::kBest:
      return "best";
    case AdmissionReason::kColder:
      return "colder";
    case AdmissionReason::kFaster:
      return "faster";
    case AdmissionReason::kByHand:
      return "by hand";
  }
  return "";
}

// Most hits only count, so that the processor can overlap the cache misses of several look-ups.
void Admission::Judge(Tenant& tenant, std::uint64_t hash, std::size_t bytes) {
  const auto hits = static_cast<double>(tenant.stats.hits - tenant.judged_hits);
  const double requests = hits + static_cast<double>(tenant.stats.misses - tenant.judged_misses);
  tenant.judged_hits = tenant.stats.hits;
  tenant.judged_misses = tenant.stats.misses;
  tenant.surge = std::max(0.0, tenant.surge - hits) + requests - hits;
  if (tenant.surge >= options_.window && tenant.hit_rate_in_fact >= kHits) Restart(tenant);
  tenant.requests += requests;
  tenant.hits += hits;
  tenant.recent += requests;
  recent_ += requests;
  const auto size = static_cast<double>(bytes);
  mean_bytes_ += (mean_bytes_ > 0 ? kSizeWeight : 1) * (size - mean_bytes_);
  if (recent_ > Keys()) {
    recent_ /= 2;
    for (Tenant& each : tenants_) each.recent /= 2;
  }
  // If the hottest key is in the sample, the number of requests is much larger, but hardly that of
  // misses. Misses are therefore compared with the number of requests in a fair sample (FAST'15,
  // SHARDS-adj).
  tenant.expected += requests * tenant.ghost.rate();
  if (tenant.ghost.Touch(hash, bytes, capacity_) == false) ++tenant.missed;
  if (tenant.expected >= options_.window) EndWindow(tenant);
}

// Begins a new sample, and a window that is soon over. A tenant whose keys fit has a small sample.
// If it then begins a scan, the scan would otherwise displace much until the window ends.
void Admission::Restart(Tenant& tenant) const {
  tenant.surge = 0;
  if (tenant.ghost.rate() == 1) return;
  tenant.ghost = GhostCache(options_.sampled_keys);
  tenant.requests = tenant.hits = tenant.expected = tenant.missed = 0;
}

void Admission::EndWindow(Tenant& tenant) {
  const double alone = std::max(0.0, 1 - tenant.missed / tenant.expected);
  const double in_fact = tenant.hits / tenant.requests;
  if (!tenant.hit_rate) {
    tenant.hit_rate = alone;
    tenant.hit_rate_in_fact = in_fact;
  }
  *tenant.hit_rate += options_.smoothing * (alone - *tenant.hit_rate);
  tenant.hit_rate_in_fact += options_.smoothing * (in_fact - tenant.hit_rate_in_fact);
  tenant.requests = tenant.hits = tenant.expected = tenant.missed = 0;
  if (in_fact >= kHits) tenant.ghost.Shrink(capacity_);
  SetWorth(tenant);
  Decide();
}

// Decide() compares each tenant with each other one, so it should compute no powers.
void Admission::SetWorth(Tenant& tenant) const {
  if (tenant.hit_rate) tenant.worth = std::pow(tenant.weight * *tenant.hit_rate, options_.power);
}

void Admission::Set(TenantId tenant, std::optional<double> share) {
  Of(tenant).by_hand = share;
  Decide();
}

void Admission::SetWeight(TenantId tenant, double weight) {
  Of(tenant).weight = weight;
  SetWorth(Of(tenant));
  Decide();
}

std::vector<TenantStats> Admission::Stats() const {
  std::vector<TenantStats> all;
  all.reserve(tenants_.size());
  for (const Tenant& tenant : tenants_) {
    all.push_back(tenant.stats);
    all.back().active = IsActive(tenant);
  }
  return all;
}

void Admission::Grow(TenantId tenant) {
  while (tenants_.size() <= tenant) tenants_.emplace_back(options_.sampled_keys);
}

bool Admission::IsActive(const Tenant& tenant) const {
  return static_cast<double>(requests_ - tenant.last) <= kIdle * Keys();
}

// Returns the number of keys that the cache can hold.
double Admission::Keys() const {
  return static_cast<double>(capacity_) / std::max(mean_bytes_, 1.0);
}

void Admission::Decide() {
  for (Tenant& tenant : tenants_) Decide(tenant);
}

void Admission::Decide(Tenant& tenant) {
  TenantStats& stats = tenant.stats;
  stats.hit_rate_alone = tenant.hit_rate.value_or(0);
  stats.hit_rate = tenant.hit_rate_in_fact;
  stats.share = 1;
  stats.reason = tenant.hit_rate ? AdmissionReason::kBest : AdmissionReason::kUnknown;
  if (tenant.hit_rate) Compare(tenant);
  tenant.yields = std::max(stats.share, tenant.by_hand.value_or(0)) < kYields;
  if (!tenant.by_hand) return;
  stats.share = *tenant.by_hand;
  stats.reason = AdmissionReason::kByHand;
}

void Admission::Compare(Tenant& tenant) {
  TenantStats& stats = tenant.stats;
  for (const Tenant& other : tenants_) {
    if (&other == &tenant || !other.hit_rate || !IsActive(other)) continue;
    if (other.worth == 0) continue;
    const double lost = *other.hit_rate - other.hit_rate_in_fact;
    const double need = std::clamp(lost / options_.slack, 0.0, 1.0);
    const double by_value = tenant.worth / other.worth;
    const double slower = std::min(1.0, other.recent / tenant.recent);
    const double by_speed = need == 1 ? slower : std::pow(slower, need);
    const double share = std::max(options_.least, by_value * by_speed);
    if (share >= stats.share) continue;
    stats.share = share;
    stats.reason = by_value <= by_speed ? AdmissionReason::kColder : AdmissionReason::kFaster;
  }
}

}  // namespace stout::inline v1
