#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "program/address.h"
#include "program/service_config.h"
#include "program/tenant_options.h"
#include "resp/server/service.h"
#include "resp/server/tls.h"
#include "resp/server/unix_socket.h"
#include "stout/adapters/partition.h"
#include "stout/core/lease_table.h"
#include "stout/core/registry_table.h"
#include "stout/core/types.h"
#include "stout/tenants.h"
#include "stout/write_back_map.h"

namespace stout::node {

/// How long a node that has handed over its ranges still answers, so that all others hear of it.
inline constexpr auto kFarewell = std::chrono::seconds(1);

/// The options of `stout-node`.
struct Config : program::ServiceConfig {
  Config();

  std::string store;                 ///< empty: there is a datalet
  std::string scope = "stout-node";  ///< the name under which the store is owned
  std::string join;                  ///< URL of the lease service; empty: the node is alone
  std::string datalet;               ///< the store that this node brings; empty: none
  std::string datalet_id;            ///< empty: made from its address or URL
  std::uint32_t capacity = 1;        ///< of the datalet
  ClusterConfig cluster;             ///< of the deployment
  /// Copies those settings of the deployment that the command line gives.
  std::function<void(ClusterConfig& kept)> given;
  bool mode_given = false;
  program::Address advertise{.host = ""};  ///< no host: the address at which it listens
  RangeId ranges = 16;
  std::string partition_name;  ///< as given; empty: slots, or what the deployment has
  Duration lease_ttl = std::chrono::seconds(10);
  Duration handover_timeout = std::chrono::seconds(10);
  resp::UnixSocketOptions unix_socket;
  std::string password;                     ///< empty: clients need none
  std::optional<program::Address> metrics;  ///< of the pages for operators; nullopt: none
  /// The node is unhealthy if the store has been called for this time without a success. > 0
  Duration unhealthy_after = std::chrono::seconds(20);
  program::TenantOptions tenant_options;
  std::shared_ptr<Tenants> tenants = std::make_shared<Tenants>();  ///< also in `map`
  WriteBackMapOptions map;
  resp::ConnectionLimits limits;
  resp::TlsFiles tls;
  Duration sweep_interval = std::chrono::minutes(1);

  /// Requires a valid name in `cluster`.
  [[nodiscard]] Partition partition() const;
};

/// Reads the command line. Returns the exit code after --help or an error, which has been printed.
[[nodiscard]] std::optional<int> ParseCommandLine(int argc, const char* const* argv,
                                                  Config& config);

}  // namespace stout::node
