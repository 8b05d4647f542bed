#pragma once

#include <boost/json/array.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "http/figures.h"
#include "stout/core/admission.h"

namespace stout::monitor {

/// A tenant's use of the caches of one kind.
struct TenantSnapshot {
  std::string tenant;
  std::string cache;  ///< "records": of all ranges or shards, or "store"
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t bytes = 0;
  double share = 0;                         ///< mean over the caches, by requests
  double hit_rate_alone = 0;                ///< likewise
  double hit_rate = 0;                      ///< likewise
  bool active = false;                      ///< in one of the caches
  bool crowded = false;                     ///< see MarkCrowded
  std::map<std::string_view, int> reasons;  ///< caches by NameOf(AdmissionReason)
};

/// Adds the tenants' use of one cache. `names`: Tenants::Names; tenants beyond it are left out.
void AddTenants(const std::vector<TenantStats>& cached, const std::vector<std::string>& names,
                const std::string& cache, std::vector<TenantSnapshot>& all);

/// Marks tenants whose hot sets do not fit into the cache together: at least two would hit often if
/// each were alone, and these hit clearly less. Tenants that are not active, or throttled by hand,
/// do not count. No law can help them: they need more memory, or servers of their own.
void MarkCrowded(std::vector<TenantSnapshot>& tenants);

/// Logs which tenants are crowded, at most once an hour.   Threads: one.
class CrowdingLog {
 public:
  void Tell(const std::vector<TenantSnapshot>& tenants);

 private:
  std::chrono::steady_clock::time_point told_;
};

/// Appends the metrics of docs/TENANTS.md, if there are tenants. `prefix` precedes their names.
void AppendTenants(std::vector<http::MetricFamily>& families,
                   const std::vector<TenantSnapshot>& tenants, const std::string& prefix);

/// The same metrics, an object for each tenant and cache.
[[nodiscard]] boost::json::array ToArray(const std::vector<TenantSnapshot>& tenants,
                                         const std::string& prefix);

}  // namespace stout::monitor
