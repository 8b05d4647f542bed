#include "stout/tenants.h"

#include <algorithm>

namespace stout::inline v1 {
namespace {

constexpr std::size_t kMaxLetters = 64;

}  // namespace

bool Tenants::IsName(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-.:/@").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= kMaxLetters && std::ranges::all_of(text, fits);
}

TenantId Tenants::IdOf(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (const auto known = ids_.find(name); known != ids_.end()) return known->second;
  if (names_.size() >= most_ + 2) return kOther;
  const auto id = static_cast<TenantId>(names_.size());
  names_.emplace_back(name);
  ids_.emplace(name, id);
  return id;
}

std::string Tenants::NameOf(TenantId tenant) const {
  const std::lock_guard lock(mutex_);
  return names_[tenant];
}

std::vector<std::string> Tenants::Names() const {
  const std::lock_guard lock(mutex_);
  return names_;
}

void Tenants::Admit(TenantId tenant, std::optional<double> share) {
  const std::lock_guard lock(mutex_);
  settings_[tenant].share = share;
  ++version_;
}

void Tenants::Weigh(TenantId tenant, double weight) {
  const std::lock_guard lock(mutex_);
  settings_[tenant].weight = weight;
  ++version_;
}

void Tenants::ApplyChanges(Admission& law, std::uint64_t* seen) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [tenant, settings] : settings_) {
    law.Set(tenant, settings.share);
    law.SetWeight(tenant, settings.weight);
  }
  *seen = version_;
}

}  // namespace stout::inline v1
