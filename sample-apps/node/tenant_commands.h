#pragma once

#include <optional>
#include <string>

#include "node/node_service.h"
#include "node/request.h"
#include "resp/server/session.h"
#include "stout/core/types.h"

namespace stout::node {

/// STOUT.TAG: the tenant of a connection. STOUT.ADMIT: the share of a tenant's misses that may
/// displace data of other tenants in the caches of this node, and the tenant's weight.
///
/// Owner: its connection.   Threads: the connection's.
class TenantCommands {
 public:
  /// Both outlive it.
  TenantCommands(NodeService& service, const resp::Session& session)
      : service_(service), session_(session) {}

  /// Reads STOUT.TAG. Returns the tenant from the next command on; nullopt if it stays.
  [[nodiscard]] std::optional<TenantId> Tag(Request& request);

  /// Carries out the command. Its reply is valid until Clear().
  void Run(Request& request);
  void Clear() { replies_ = {}; }

 private:
  // Returns the reply, or sets request.error.
  [[nodiscard]] std::string Admit(Request& request);
  // Returns the tenant of that name; nullopt, and sets request.error, if it cannot be a name.
  [[nodiscard]] std::optional<TenantId> Named(Request& request);

  NodeService& service_;
  const resp::Session& session_;
  std::string replies_;
};

}  // namespace stout::node
