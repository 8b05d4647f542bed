#include "node/tenant_commands.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <string_view>

#include "node/commands.h"
#include "node/operation_commands.h"
#include "resp/server/ascii.h"

namespace stout::node {
namespace {

constexpr std::size_t kMostLetters = 64;

// Names are labels of metrics.
bool IsName(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-.:/@").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= kMostLetters && std::ranges::all_of(text, fits);
}

std::optional<double> ParseShare(std::string_view text) {
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  const bool valid = error == std::errc() && end == text.data() + text.size();
  return valid && share >= 0 && share <= 1 ? std::optional(share) : std::nullopt;
}

using enum CommandId::Number;
using enum resp::CommandFlag::Bits;

// clang-format off
constexpr KeyCommand kTenantRows[] = {
    {{kStoutAdmit, "stout.admit", 3, kWrite | kNoMulti, {}, 0,
      "cluster", "0.1.0", "Fixes the share of a tenant's reads that may enter the caches of this node."}},
    {{kStoutTag, "stout.tag", -1, kNoMulti, {}, 0,
      "cluster", "0.1.0", "Returns or changes the tenant of the connection."}},
};
// clang-format on

}  // namespace

std::span<const KeyCommand> TenantRows() { return kTenantRows; }

bool TenantCommands::Runs(const Request& request) {
  return request.on_keys() &&
         (request.command->id == kStoutAdmit || request.command->id == kStoutTag);
}

std::optional<TenantId> TenantCommands::Tag(Request& request) {
  if (!request.error.empty() || request.arguments.size() == 1) return std::nullopt;
  if (request.arguments.size() > 2) request.error = "ERR syntax: STOUT.TAG [TENANT]";
  if (!request.error.empty()) return std::nullopt;
  const auto tenant = Named(request);
  if (tenant) request.status = "OK";
  return tenant;
}

void TenantCommands::Run(Request& request) {
  const std::string reply =
      request.command->id == kStoutTag ? service_.tenants->NameOf(request.tenant) : Admit(request);
  AppendReply(request, reply, session_.version, replies_);
}

std::string TenantCommands::Admit(Request& request) {
  std::string text(request.arguments[2]);
  std::transform(text.begin(), text.end(), text.begin(), resp::ToLower);
  const bool automatic = text == "auto";
  const auto share = automatic ? std::nullopt : ParseShare(text);
  if (!automatic && !share) {
    request.error = "ERR a share is a number from 0 to 1, or auto";
    return "";
  }
  const auto tenant = Named(request);
  if (!tenant) return "";
  if (*tenant == Tenants::kOther && request.arguments[1] != service_.tenants->NameOf(*tenant)) {
    request.error = "ERR this tenant is one of 'other': there are --max-tenants others already";
    return "";
  }
  service_.tenants->Admit(*tenant, share);
  return "OK";
}

std::optional<TenantId> TenantCommands::Named(Request& request) {
  if (IsName(request.arguments[1])) return service_.tenants->IdOf(request.arguments[1]);
  request.error = "ERR a tenant's name has 1 to 64 letters, digits, and any of _-.:/@";
  return std::nullopt;
}

}  // namespace stout::node
