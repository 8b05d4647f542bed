#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stout/adapters/postgres_store.h"
#include "stout/core/errc.h"

// The parameters of libpq connections, and the meaning of libpq's errors when it cannot connect.

namespace stout::postgres {

// Returns the error in PostgresOptions::connection that can be found without a server, or an empty
// string.
[[nodiscard]] std::string WhyNoConnection(const std::string& connection);

// Returns kBadUrl if the server refused the connection for good, and kTransient otherwise.
[[nodiscard]] Errc ClassifyRefusal(std::string_view error);

// How a connection finds a primary.
enum class Target {
  // libpq compares what the servers report at login. If a host has several addresses, it skips the
  // standbys among them.
  kByLogin,
  // libpq takes any server, and the caller asks it. A pooler repeats a report that its server made
  // long ago, so libpq would take a server that was promoted since then for a standby.
  kByQuestion,
};

// Returns true if libpq's error means: by their reports at login, no server accepts writes.
[[nodiscard]] bool FoundNoPrimary(std::string_view error);

// The parameters that all connections of a store have in common, blocking and asynchronous ones.
class ConnectionParameters {
 public:
  ConnectionParameters(const PostgresOptions& options, Target target);
  ConnectionParameters(const ConnectionParameters&) = delete;
  ConnectionParameters& operator=(const ConnectionParameters&) = delete;
  [[nodiscard]] const char* const* keywords() const { return keywords_.data(); }
  [[nodiscard]] const char* const* values() const { return values_.data(); }

 private:
  std::string connection_;
  std::string timeout_;
  std::vector<const char*> keywords_;
  std::vector<const char*> values_;
};

}  // namespace stout::postgres
