#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/options.h"
#include "stout/tenants.h"

namespace stout::program {

/// The options of a server about tenants: see docs/TENANTS.md.
struct TenantOptions {
  std::size_t most = 64;          ///< tenants with a name of their own
  std::vector<std::string> each;  ///< NAME[,share=SHARE][,weight=WEIGHT]
};

/// `named`: how a request gets its tenant's name, for the help text. `yield_pause`: of LaneOptions.
void AddTenantOptions(Options& options, const std::string& named, TenantOptions& tenants,
                      double& yield_pause);

/// Returns the tenants with their shares and weights; null if an option is wrong, and the problem.
[[nodiscard]] std::shared_ptr<Tenants> MakeTenants(const TenantOptions& options,
                                                   std::string* problem);

/// A share by hand; nullopt leaves it to the law.
using AdmissionShare = std::optional<double>;

/// Reads a number from 0 to 1, or "auto". Returns nullopt if it is neither.
[[nodiscard]] std::optional<AdmissionShare> ParseAdmissionShare(std::string_view text);
/// Reads a number from 0.001 to 1000. Returns nullopt if it is none.
[[nodiscard]] std::optional<double> ParseTenantWeight(std::string_view text);

}  // namespace stout::program
