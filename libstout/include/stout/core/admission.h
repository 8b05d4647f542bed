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
  /// The power of the ratio of hit rates, see Admission. >= 0; 0 ignores hit rates.
  double power = 2.5;
  /// The hit rate that a tenant may lose before others yield to its need. > 0
  double slack = 0.02;
  /// The least share, so that a tenant is never shut out. In [0, 1].
  double least = 0.0001;
  /// The weight of the newest window in a hit rate. In (0, 1].
  double smoothing = 0.25;
  /// Requests for sampled keys that make a window. >= 1.
  std::uint32_t window = 64;
  /// Sampled keys of each tenant; see GhostCache. >= 1.
  std::size_t sampled_keys = 1024;
};

/// The reason for a tenant's share.
enum class AdmissionReason : std::uint8_t {
  kUnknown,  ///< its first window has not ended, so it is admitted
  kBest,     ///< no other tenant makes better use of the cache, or needs it
  kColder,   ///< another tenant's requests hit more often
  kFaster,   ///< another tenant needs room, and makes fewer requests
  kByHand,   ///< Admission::Set
};
[[nodiscard]] std::string_view NameOf(AdmissionReason reason);

/// A tenant's use of a cache that tenants share.
struct TenantStats {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::size_t bytes = 0;  ///< of the states that it used last
  double share = 1;       ///< of its misses that may enter the cache when it is full
  AdmissionReason reason = AdmissionReason::kUnknown;
  double hit_rate_alone = 0;  ///< that it would have alone; 0 before its first window ends
  double hit_rate = 0;        ///< that it has in fact, over the last windows
  bool active = false;        ///< it has made requests recently

  bool operator==(const TenantStats&) const = default;
};

/// Decides how much of what each tenant reads may enter a cache that tenants share, so that the
/// scans of one do not displace the hot set of another.
///
///     admission.Observe(tenant, hash, bytes, hit);     // at each look-up
///     if (admission.Admits(tenant, uniform)) Keep();   // after a miss, if the cache is full
///
/// For each tenant t, a GhostCache of the size of the whole cache measures h(t), the hit rate that
/// t would have if it were alone and admitted. The hit rate in the shared cache would not do: a
/// tenant that is not admitted does not hit, and would therefore never be admitted again.
///
///     share(t) = min over other tenants u of
///                (value(t) / value(u)) ^ power * min(1, requests(u) / requests(t)) ^ need(u)
///
/// It is in [least, 1]. value(t) is weight(t) h(t). need(u) goes from 0 to 1 as u hits `slack` less
/// often in fact than it would alone. Only tenants u count that were active recently.
///
/// | regime                           | shares                                                 |
/// |----------------------------------|--------------------------------------------------------|
/// | one tenant                       | 1, for any hit rate                                    |
/// | a hot set beside scans           | 1, and `least`: a scan never hits its ghost cache      |
/// | a hot set beside uniform reads   | 1, and about (cache / data) ^ power                    |
/// | several hot sets that do not fit | 1 for the slowest; a faster one gets less by its speed |
/// | several hot sets that fit        | 1: nobody needs more                                   |
/// | a hot set that moves             | 1 again once the new set was read twice                |
///
/// The paper proposes to throttle a tenant with a low hit rate and a large footprint. Here the
/// ghost cache is as large as the cache. So if a tenant's keys all fit and return, its hit rate is
/// high; a low one means that they do not fit or do not return. What a tenant occupies grows with
/// its requests, so the second factor stands for the footprint. Without it, a tenant that reads 16
/// times as fast displaces a hot set in spite of its small share.
///
/// A tenant that is throttled still caches what it reads often, because each read is another
/// chance. `power` = 2.5 is a compromise: 2 protects a hot set less beside weakly skewed reads that
/// are much faster, and 3 takes more from those. tests/property/admission_test.cc states what is
/// reached.
///
/// Windows end by the number of requests, not by time, so a slow tenant is judged as surely as a
/// fast one, only later. A tenant counts as active until others have sent four times as many
/// requests as the cache has keys.
///
/// Units: shares and hit rates in [0, 1].   Owner: its cache; it can be moved.
/// Threads: none of its own.   Errors: cannot fail.
/// Paper: "Resolving cache interference in distributed storage" (2013), "Next steps".
class Admission {
 public:
  /// `capacity`: bytes of the cache.
  explicit Admission(std::size_t capacity, AdmissionOptions options = {})
      : capacity_(capacity), options_(options) {}

  /// Records a look-up of the key with this hash. `bytes`: what the key takes in the cache.
  void Observe(TenantId id, std::uint64_t hash, std::size_t bytes, bool hit) {
    Tenant& tenant = Of(id);
    ++(hit ? tenant.stats.hits : tenant.stats.misses);
    tenant.last = ++requests_;
    const bool is_due = (tenant.stats.hits + tenant.stats.misses) % kJudgedAfter == 0;
    if (is_due || tenant.ghost.InSample(hash)) Judge(tenant, hash, bytes);
  }
  /// As Observe while the cache has room for all, so that the law need not learn.
  void Count(TenantId id, bool hit) {
    Tenant& tenant = Of(id);
    ++(hit ? tenant.stats.hits : tenant.stats.misses);
    ++(hit ? tenant.judged_hits : tenant.judged_misses);
  }
  /// Records that the tenant's states in the cache have this many bytes more, or less. The law does
  /// not need it.
  void Charge(TenantId tenant, std::ptrdiff_t bytes) {
    Of(tenant).stats.bytes += static_cast<std::size_t>(bytes);
  }

  /// Returns whether what the tenant reads now may enter the cache. `uniform`: a random number in
  /// [0, 1).
  [[nodiscard]] bool Admits(TenantId tenant, double uniform) const {
    return tenant >= tenants_.size() || uniform < tenants_[tenant].stats.share;
  }

  /// Returns whether the tenant's reads of the store should yield to those of others: the law gives
  /// it a share below one half, and no larger one is fixed.
  [[nodiscard]] bool Yields(TenantId tenant) const {
    return tenant < tenants_.size() && tenants_[tenant].yields;
  }

  /// Fixes a tenant's share; nullopt leaves it to the law again.
  void Set(TenantId tenant, std::optional<double> share);
  /// Requires weight > 0. The default is 1.
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
    double expected = 0;  // requests for sampled keys in this window, if the sample is a fair one
    double missed = 0;    // of them, those that the ghost cache had not
    std::optional<double> hit_rate;  // alone
    double hit_rate_in_fact = 0;
    std::uint64_t last = 0;  // the last request, as all requests are counted
    double recent = 0;       // requests, those long ago count less
    std::optional<double> by_hand;
    double weight = 1;
    bool yields = false;
    TenantStats stats;
  };

  // Requests of a tenant after which it is judged in any case, because it may use no sampled key.
  static constexpr std::uint64_t kJudgedAfter = 1024;

  // Takes account of the requests since the tenant was judged last. `hash`: of the newest one.
  void Judge(Tenant& tenant, std::uint64_t hash, std::size_t bytes);

  Tenant& Of(TenantId tenant) {
    if (tenant >= tenants_.size()) Grow(tenant);
    return tenants_[tenant];
  }
  void Grow(TenantId tenant);
  void EndWindow(Tenant& tenant);
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
