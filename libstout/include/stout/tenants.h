#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stout/core/admission.h"
#include "stout/core/types.h"

namespace stout::inline v1 {

/// The tenants of a process, with the shares and weights that were set by hand for all their
/// caches.
///
///     auto tenants = std::make_shared<Tenants>();
///     WriteBackMap map(executor, store, {.tenants = tenants});
///     co_await map.AsyncGet(key, {.tenant = tenants->IdOf("reports")}, asio::use_awaitable);
///     tenants->Admit(tenants->IdOf("reports"), 0.35);
///
/// Threads: any.   Errors: cannot fail.
class Tenants {
 public:
  /// The name of tenant 0: requests without a tenant.
  static constexpr std::string_view kDefault = "default";
  /// All tenants beyond the limit, counted together.
  static constexpr TenantId kOther = 1;

  /// `most`: maximum number of tenants that are counted by themselves. >= 1
  explicit Tenants(std::size_t most = 64) : most_(most) {}
  Tenants(const Tenants&) = delete;
  Tenants& operator=(const Tenants&) = delete;

  /// The names that clients may use, which are also labels of metrics.
  static constexpr std::string_view kNameRule = "1 to 64 letters, digits, and any of _-.:/@";
  /// Returns true if the text is such a name.
  [[nodiscard]] static bool IsName(std::string_view text);

  /// Returns the tenant of this name, which may be new; kOther if there are too many. "" is another
  /// name of kDefault.
  TenantId IdOf(std::string_view name);
  /// Returns the name of a tenant that IdOf has returned.
  [[nodiscard]] std::string NameOf(TenantId tenant) const;
  /// Returns the names, by TenantId: "default", "other", then those that were passed to IdOf.
  [[nodiscard]] std::vector<std::string> Names() const;

  /// Admission::Set, in all caches.
  void Admit(TenantId tenant, std::optional<double> share);
  /// Admission::SetWeight, in all caches. Requires weight > 0.
  void Weigh(TenantId tenant, double weight);

  /// Copies the settings that changed since `*seen` to a cache's Admission, and updates `*seen`.
  /// Begin with 0.
  void ApplyTo(Admission& law, std::uint64_t* seen) const {
    if (*seen != version_.load(std::memory_order_acquire)) ApplyChanges(law, seen);
  }

 private:
  struct Settings {
    std::optional<double> share;
    double weight = 1;
  };

  void ApplyChanges(Admission& law, std::uint64_t* seen) const;

  const std::size_t most_;
  mutable std::mutex mutex_;
  std::vector<std::string> names_{std::string(kDefault), "other"};
  std::map<std::string, TenantId, std::less<>> ids_{
      {"", 0}, {std::string(kDefault), 0}, {"other", kOther}};
  std::map<TenantId, Settings> settings_;
  std::atomic<std::uint64_t> version_ = 0;
};

}  // namespace stout::inline v1
