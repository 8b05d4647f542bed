#include "monitor/tenant_metrics.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <utility>

namespace stout::monitor {
namespace {

namespace json = boost::json;
using http::Get;
using http::kCounter;
using http::kGauge;
using http::Scalar;

constexpr Scalar<TenantSnapshot> kTenantScalars[] = {
    {"tenant_hits_total", kCounter, "Look-ups of the tenant that found the key",
     Get<&TenantSnapshot::hits>},
    {"tenant_misses_total", kCounter, "Look-ups of the tenant that did not",
     Get<&TenantSnapshot::misses>},
    {"tenant_bytes", kGauge, "Memory of what the tenant used last; 0 for a store",
     Get<&TenantSnapshot::bytes>},
    {"tenant_admitted_ratio", kGauge, "Share of the tenant's misses that may displace others",
     Get<&TenantSnapshot::share>},
    {"tenant_hit_ratio_alone", kGauge,
     "Share of look-ups that would hit if the tenant were alone, by a sample",
     Get<&TenantSnapshot::hit_rate_alone>},
    {"tenant_hit_ratio", kGauge, "Share of its last look-ups that hit",
     Get<&TenantSnapshot::hit_rate>},
    {"tenant_crowded", kGauge,
     "1 if its hot set does not fit into the cache together with those of others",
     Get<&TenantSnapshot::crowded>},
};

http::Labels LabelsOf(const TenantSnapshot& tenant) {
  return {{"tenant", tenant.tenant}, {"cache", tenant.cache}};
}

// A tenant that would hit so often alone has a hot set. Guess.
constexpr double kPopular = .5;
// A tenant is crowded if it hits this much less than alone. Guess: more than the law lets one lose.
constexpr double kClearly = .05;
constexpr auto kAgain = std::chrono::hours(1);

bool IsPopular(const TenantSnapshot& tenant) {
  const bool by_hand = tenant.reasons.contains(NameOf(AdmissionReason::kByHand));
  return tenant.active && !(by_hand && tenant.share < 1) && tenant.hit_rate_alone >= kPopular;
}

}  // namespace

void AddTenants(const std::vector<TenantStats>& cached, const std::vector<std::string>& names,
                const std::string& cache, std::vector<TenantSnapshot>& all) {
  for (std::size_t i = 0; i < std::min(cached.size(), names.size()); ++i) {
    const TenantStats& stats = cached[i];
    const std::uint64_t requests = stats.hits + stats.misses;
    if (requests == 0) continue;
    auto found = std::ranges::find_if(all, [&](const TenantSnapshot& each) {
      return each.cache == cache && each.tenant == names[i];
    });
    if (found == all.end()) found = all.insert(found, {.tenant = names[i], .cache = cache});
    const double before = static_cast<double>(found->hits + found->misses);
    const double part = static_cast<double>(requests) / (before + static_cast<double>(requests));
    found->hits += stats.hits;
    found->misses += stats.misses;
    found->bytes += stats.bytes;
    found->active = found->active || stats.active;
    found->share += part * (stats.share - found->share);
    found->hit_rate_alone += part * (stats.hit_rate_alone - found->hit_rate_alone);
    found->hit_rate += part * (stats.hit_rate - found->hit_rate);
    ++found->reasons[NameOf(stats.reason)];
  }
}

void MarkCrowded(std::vector<TenantSnapshot>& tenants) {
  for (TenantSnapshot& tenant : tenants) {
    const auto popular = std::ranges::count_if(tenants, [&](const TenantSnapshot& each) {
      return each.cache == tenant.cache && IsPopular(each);
    });
    tenant.crowded =
        popular >= 2 && IsPopular(tenant) && tenant.hit_rate_alone - tenant.hit_rate > kClearly;
  }
}

void CrowdingLog::Tell(const std::vector<TenantSnapshot>& tenants) {
  std::string crowded;
  for (const TenantSnapshot& tenant : tenants) {
    if (!tenant.crowded) continue;
    crowded += fmt::format("{}{} ({}: hits {:.0f} %, alone {:.0f} %)", crowded.empty() ? "" : ", ",
                           tenant.tenant, tenant.cache, 100 * tenant.hit_rate,
                           100 * tenant.hit_rate_alone);
  }
  const auto now = std::chrono::steady_clock::now();
  if (crowded.empty() || (told_ != decltype(told_)() && now - told_ < kAgain)) return;
  told_ = now;
  spdlog::warn(
      "tenants have hot sets that do not fit into the cache together: {}; raise --cache-bytes, or "
      "the cache in the URL of the store, or move keys to another server (docs/TENANTS.md)",
      crowded);
}

void AppendTenants(std::vector<http::MetricFamily>& families,
                   const std::vector<TenantSnapshot>& tenants, const std::string& prefix) {
  if (tenants.empty()) return;
  for (const auto& [name, type, help, get] : kTenantScalars) {
    http::MetricFamily family = http::Family(prefix + name, help, type);
    for (const TenantSnapshot& tenant : tenants)
      family.metric.push_back(http::ToMetric(get(tenant), type, LabelsOf(tenant)));
    families.push_back(std::move(family));
  }
  http::MetricFamily reasons = http::Family(prefix + "tenant_admission",
                                            "Caches by the reason for the admitted ratio", kGauge);
  for (const TenantSnapshot& tenant : tenants) {
    for (const auto& [reason, caches] : tenant.reasons) {
      http::Labels labels = LabelsOf(tenant);
      labels.push_back({"reason", std::string(reason)});
      reasons.metric.push_back(http::ToMetric(caches, kGauge, std::move(labels)));
    }
  }
  families.push_back(std::move(reasons));
}

json::array ToArray(const std::vector<TenantSnapshot>& tenants, const std::string& prefix) {
  json::array all;
  for (const TenantSnapshot& tenant : tenants) {
    json::object one = http::ToObject(kTenantScalars, tenant, prefix);
    one["tenant"] = tenant.tenant;
    one["cache"] = tenant.cache;
    json::object reasons;
    for (const auto& [reason, caches] : tenant.reasons) reasons[reason] = caches;
    one["admission"] = std::move(reasons);
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace stout::monitor
