#include "program/tenant_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace stout::program {
namespace {

bool IsAuto(std::string_view text) {
  return std::ranges::equal(text, std::string_view("auto"),
                            [](char a, char b) { return (a | 0x20) == b; });
}

// Reads NAME[,share=SHARE][,weight=WEIGHT]. Returns the problem, or "".
std::string Apply(const std::string& text, Tenants& tenants) {
  std::istringstream parts(text);
  std::string name;
  std::getline(parts, name, ',');
  if (!Tenants::IsName(name)) {
    return fmt::format("'{}' is no name of a tenant: use {}", name, Tenants::kNameRule);
  }
  const TenantId tenant = tenants.IdOf(name);
  if (tenant == Tenants::kOther && name != "other")
    return "there are more names than --max-tenants";
  for (std::string part; std::getline(parts, part, ',');) {
    const std::string value = part.substr(std::min(part.find('=') + 1, part.size()));
    if (part.starts_with("share=")) {
      const auto share = ParseAdmissionShare(value);
      if (!share) return fmt::format("share={}: give a number from 0 to 1, or auto", value);
      tenants.Admit(tenant, *share);
    } else if (part.starts_with("weight=")) {
      const auto weight = ParseTenantWeight(value);
      if (!weight) return fmt::format("weight={}: give a number from 0.001 to 1000", value);
      tenants.Weigh(tenant, *weight);
    } else {
      return fmt::format("'{}' is neither share=SHARE nor weight=WEIGHT", part);
    }
  }
  return "";
}

}  // namespace

void AddTenantOptions(Options& options, const std::string& named, TenantOptions& tenants,
                      double& yield_pause) {
  options.Count("--max-tenants", tenants.most, 1, 1024,
                fmt::format("Maximum tenants that share the caches by name ({}); further ones are "
                            "one tenant, 'other'",
                            named));
  options.Texts(
      "--tenant", tenants.each,
      "Share of the tenant's misses that may displace data of other tenants: 0 to 1, or auto. "
      "Weight of its hit rate beside those of other tenants, 1 by default. May be given for "
      "several tenants",
      "NAME[,share=SHARE][,weight=WEIGHT]");
  options.Number("--yield-pause", yield_pause, 0, 1000,
                 "After reads of the store for a tenant with a small share, its next reads pause "
                 "for the time for which other reads were in flight, times this factor");
}

std::shared_ptr<Tenants> MakeTenants(const TenantOptions& options, std::string* problem) {
  auto tenants = std::make_shared<Tenants>(options.most);
  for (const std::string& each : options.each) {
    if (std::string wrong = Apply(each, *tenants); !wrong.empty()) {
      *problem = "--tenant: " + wrong;
      return nullptr;
    }
  }
  return tenants;
}

std::optional<AdmissionShare> ParseAdmissionShare(std::string_view text) {
  if (IsAuto(text)) return AdmissionShare();
  const auto share = ParseNumberIn(0, 1, text);
  if (!share) return std::nullopt;
  return AdmissionShare(share);
}

std::optional<double> ParseTenantWeight(std::string_view text) {
  return ParseNumberIn(0.001, 1000, text);
}

}  // namespace stout::program
