#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stout/core/ghost_cache.h"
#include "stout/core/types.h"

namespace stout::inline v1 {

struct AdmissionOptions {
  /// The exponent of the ratio of hit rates, see Admission. >= 0; 0 ignores hit rates.
  double power = 3.25;
  /// The loss of hit rate at which other tenants fully yield to a tenant's need. > 0
  double slack = 0.02;
  /// The minimum share, so that a tenant is never shut out. In [0, 1].
  double least = 0.0001;
  /// The weight of the newest window in a hit rate. In (0, 1].
  double smoothing = 0.25;
  /// Number of requests for sampled keys in a window. >= 1.
  std::uint32_t window = 64;
  /// Maximum number of sampled keys per tenant; see GhostCache. >= 1.
  std::size_t sampled_keys = 1024;
};

/// The reason for a tenant's share.
enum class AdmissionReason : std::uint8_t {
  kUnknown,  ///< its first window has not ended, so it is admitted
  kBest,     ///< no other tenant makes better use of the cache, or needs it
  kColder,   ///< another tenant's requests hit more often
  kFaster,   ///< another tenant needs room and makes fewer requests
  kByHand,   ///< Admission::Set
};
[[nodiscard]] std::string_view NameOf(AdmissionReason reason);

/// A tenant's use of a cache that tenants share.
struct TenantStats {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::size_t bytes = 0;  ///< of the cached states that it was the last to use
  double share = 1;       ///< share of its misses that may enter the cache when the cache is full
  AdmissionReason reason = AdmissionReason::kUnknown;
  double hit_rate_alone = 0;  ///< if it had the cache alone; 0 before its first window ends
  double hit_rate = 0;        ///< in the shared cache, over the last windows
  bool active = false;        ///< it has made requests recently

  bool operator==(const TenantStats&) const = default;
};

/// Decides which share of each tenant's misses may enter a cache that tenants share, so that the
/// scans of one tenant do not displace the hot set of another.
///
///     admission.Observe(tenant, hash, bytes, hit);     // at each look-up
///     if (admission.Admits(tenant, uniform)) Keep();   // after a miss, if the cache is full
///
/// For each tenant t, a GhostCache of the size of the whole cache measures h(t): the hit rate that
/// t would have if it were alone and admitted. The hit rate in the shared cache is no measure,
/// because a tenant that is not admitted never hits, and would never be admitted again.
///
///     share(t) = min over other tenants u of
///                (value(t) / value(u)) ^ power * min(1, requests(u) / requests(t)) ^ need(u)
///
/// The share is in [least, 1]. value(t) is weight(t) * h(t). need(u) grows from 0 to 1 while the
/// hit rate of u falls to `slack` below h(u). Only tenants u that were active recently count.
///
/// | regime                           | shares                                                 |
/// |----------------------------------|--------------------------------------------------------|
/// | one tenant                       | 1, for any hit rate                                    |
/// | a hot set beside scans           | 1, and `least`: a scan never hits its ghost cache      |
/// | a hot set beside uniform reads   | 1, and about (cache / data) ^ power                    |
/// | several hot sets that do not fit | 1 for the slowest; a faster one gets less by its speed |
/// | several hot sets that fit        | 1: no tenant needs more                                |
/// | a hot set that moves             | 1 again once the new set was read twice                |
///
/// The paper proposes to throttle a tenant with a low hit rate and a large footprint. Here the
/// ghost cache is as large as the cache, so a low hit rate means that the tenant's keys do not fit
/// or are not read again. The space that a tenant occupies grows with its requests, so the second
/// factor represents the footprint. Without it, a tenant that reads 16 times as fast displaces a
/// hot set in spite of its small share.
///
/// A throttled tenant still caches the keys that it reads often, because each read is another
/// chance. `power` = 3.25 is a compromise: less protects a hot set too little beside weakly skewed
/// reads that are much faster, and more takes more from those reads. Decision 28 has the resulting
/// hit rates.
///
/// A window ends after a number of requests, not after a time. A slow tenant is therefore judged as
/// reliably as a fast one, only later. A tenant counts as active until other tenants have sent four
/// times as many requests as the cache has keys.
///
/// Units: shares and hit rates in [0, 1].   Owner: its cache; it can be moved.
/// Threads: none of its own.   Errors: cannot fail.
/// Paper: "Resolving cache interference in distributed storage" (2013), "Next steps".
class Admission {
 public:
  /// `capacity`: bytes of the cache.
  explicit Admission(std::size_t capacity, AdmissionOptions options = {})
      : capacity_(capacity), options_(options) {}

  /// Records a look-up of the key with this hash. `bytes`: the key's size in the cache.
  void Observe(TenantId id, std::uint64_t hash, std::size_t bytes, bool hit) {
    Tenant& tenant = Of(id);
    ++(hit ? tenant.stats.hits : tenant.stats.misses);
    tenant.last = ++requests_;
    const bool is_due = (tenant.stats.hits + tenant.stats.misses) % kJudgedAfter == 0;
    if (is_due || !hit || tenant.ghost.InSample(hash)) Judge(tenant, hash, bytes);
  }
  /// As Observe, but only counts. Use it while the cache has room for all keys.
  void Count(TenantId id, bool hit) {
    Tenant& tenant = Of(id);
    ++(hit ? tenant.stats.hits : tenant.stats.misses);
    ++(hit ? tenant.judged_hits : tenant.judged_misses);
  }
  /// Adds `bytes`, which may be negative, to the size of the tenant's states in the cache. It is
  /// for statistics only.
  void Charge(TenantId tenant, std::ptrdiff_t bytes) {
    Of(tenant).stats.bytes += static_cast<std::size_t>(bytes);
  }

  /// Returns true if a state that the tenant reads now may enter the cache. `uniform`: a random
  /// number in [0, 1).
  [[nodiscard]] bool Admits(TenantId tenant, double uniform) const {
    return tenant >= tenants_.size() || uniform < tenants_[tenant].stats.share;
  }

  /// Returns true if the tenant's reads of the store should yield to those of other tenants: its
  /// computed share is below one half, and no larger share is fixed.
  [[nodiscard]] bool Yields(TenantId tenant) const {
    return tenant < tenants_.size() && tenants_[tenant].yields;
  }

  /// Fixes a tenant's share. nullopt: it is computed again.
  void Set(TenantId tenant, std::optional<double> share);
  /// Sets the weight of a tenant's hit rate. Requires weight > 0. The default is 1.
  void SetWeight(TenantId tenant, double weight);

  /// By TenantId.
  [[nodiscard]] std::vector<TenantStats> Stats() const;

 private:
  struct Tenant {
    explicit Tenant(std::size_t sampled_keys) : ghost(sampled_keys) {}

    GhostCache ghost;
    double requests = 0;            // in this window
    double hits = 0;                // of them
    std::uint64_t judged_hits = 0;  // of stats, when it was judged last
    std::uint64_t judged_misses = 0;
    double expected = 0;  // requests for sampled keys in this window, if the sample is fair
    double missed = 0;    // of these requests, the misses of the ghost cache
    double surge = 0;     // how many more misses than hits there were lately
    std::optional<double> hit_rate;  // alone
    double worth = 0;                // value(t) ^ power
    double hit_rate_in_fact = 0;
    std::uint64_t last = 0;  // requests_ at its last request
    double recent = 0;       // requests; old ones count less
    std::optional<double> by_hand;
    double weight = 1;
    bool yields = false;
    TenantStats stats;
  };

  // A tenant is judged at least after this number of requests, even if none is for a sampled key.
  static constexpr std::uint64_t kJudgedAfter = 1024;

  // Evaluates the requests since the tenant was judged last. `hash`: key of the newest request.
  void Judge(Tenant& tenant, std::uint64_t hash, std::size_t bytes);

  Tenant& Of(TenantId tenant) {
    if (tenant >= tenants_.size()) Grow(tenant);
    return tenants_[tenant];
  }
  void Grow(TenantId tenant);
  void EndWindow(Tenant& tenant);
  void Restart(Tenant& tenant) const;
  void SetWorth(Tenant& tenant) const;
  void Decide();
  void Decide(Tenant& tenant);
  void Compare(Tenant& tenant);
  [[nodiscard]] bool IsActive(const Tenant& tenant) const;
  [[nodiscard]] double Keys() const;

  std::size_t capacity_;
  AdmissionOptions options_;
  std::vector<Tenant> tenants_;
  std::uint64_t requests_ = 0;
  double recent_ = 0;      // of all tenants
  double mean_bytes_ = 0;  // of a key
};

}  // namespace stout::inline v1
