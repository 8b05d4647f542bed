#pragma once

#include <boost/json/array.hpp>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "http/http_options.h"
#include "program/service_config.h"
#include "program/tenant_options.h"
#include "server/documents.h"
#include "server/leased_documents.h"
#include "server/policy_language.h"
#include "stout/core/registry_table.h"

namespace stout::docstore {

/// The options of `docstore-server`, from its command line and its configuration file.
struct Config : program::ServiceConfig {
  std::string store = "rocksdb:./docstore-data";
  std::string leases;     ///< URL, also that of --store cluster:; empty: the store is ours alone.
  std::string advertise;  ///< HOST:PORT; empty: where it listens.
  std::size_t ranges = LeaseOptions().ranges;
  LeaseOptions lease;                 ///< Its ranges are those above.
  std::vector<std::string> datalets;  ///< URLs; not empty if the documents are replicated
  ClusterConfig cluster;              ///< of the replicated documents
  /// Copies those settings of the deployment that the command line gives.
  std::function<void(ClusterConfig& kept)> given;
  DocumentsOptions documents;
  http::HttpOptions http;
  boost::json::array recorded;  ///< Runs that the live page shows beside this one.
  std::string record;           ///< File of DocumentsOptions::recorder; empty: none.
  program::TenantOptions tenants;
  bool trust_tenant_field = false;
};

/// Reads the command line into `config`. Answers the exit code if the program is to end now: after
/// --help, or after an error, which has then been explained on stderr.
[[nodiscard]] std::optional<int> ParseCommandLine(int argc, const char* const* argv, Config& config,
                                                  const PolicyLanguage& policies = {});

}  // namespace stout::docstore
