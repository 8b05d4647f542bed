#include "node/tenant_commands.h"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string_view>

#include "node/commands.h"
#include "node/operation_commands.h"
#include "program/tenant_options.h"
#include "resp/server/ascii.h"

namespace stout::node {
namespace {

using enum CommandId::Number;
using enum resp::CommandFlag::Bits;

// clang-format off
constexpr KeyCommand kTenantRows[] = {
    {{kStoutAdmit, "stout.admit", -3, kWrite | kNoMulti, {}, 0,
      "cluster", "0.1.0", "Sets which share of a tenant's misses is admitted, or its weight."}},
    {{kStoutTag, "stout.tag", -1, kNoMulti, {}, 0,
      "cluster", "0.1.0", "Returns or changes the tenant of the connection."}},
};
// clang-format on

}  // namespace

std::span<const KeyCommand> TenantRows() { return kTenantRows; }

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
  const auto& arguments = request.arguments;
  const bool weighs = arguments.size() == 5 && resp::EqualIgnoringCase(arguments[3], "weight");
  if (arguments.size() != 3 && !weighs)
    return Refuse(request, "ERR syntax: STOUT.ADMIT tenant share|auto [WEIGHT weight]");
  std::optional<double> weight;
  const auto share = program::ParseAdmissionShare(arguments[2]);
  if (weighs) weight = program::ParseTenantWeight(arguments[4]);
  if (!share || (weighs && !weight))
    return Refuse(request, !share ? "ERR a share is a number from 0 to 1, or auto"
                                  : "ERR a weight is a number from 0.001 to 1000");
  const auto tenant = Named(request);
  if (!tenant) return "";
  if (*tenant == Tenants::kOther && arguments[1] != service_.tenants->NameOf(*tenant))
    return Refuse(request,
                  "ERR this tenant is one of 'other': there are --max-tenants others already");
  service_.tenants->Admit(*tenant, *share);
  if (weight) service_.tenants->Weigh(*tenant, *weight);
  return "OK";
}

std::optional<TenantId> TenantCommands::Named(Request& request) {
  if (Tenants::IsName(request.arguments[1])) return service_.tenants->IdOf(request.arguments[1]);
  request.error = fmt::format("ERR a tenant's name has {}", Tenants::kNameRule);
  return std::nullopt;
}

}  // namespace stout::node
