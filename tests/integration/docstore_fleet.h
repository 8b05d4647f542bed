#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "docstore_support.h"
#include "server/leased_documents.h"
#include "server/server.h"
#include "stout/lease_service.h"
#include "stout/store.h"
#include "tests/support/eventually.h"

namespace stout::docstore {

using test::Eventually;

/// One of the servers that share a store, on a free port of this machine. Stop its runner before it
/// goes.
class FleetServer {
 public:
  FleetServer(Runner& runner, Store& store, LeaseService& leases,
              const LeaseOptions& lease_options = Brisk());

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] const std::string& address() const { return address_; }

  /// As SIGTERM; answers how it ended.
  [[nodiscard]] ErrorCode Drain();
  /// Ends at once, but leaves its leases to expire, as kill -9 does.
  void Close();

  /// Returns true if it serves this document: it answers a GET with neither 421 nor 503.
  [[nodiscard]] bool Serves(const std::string& document) const;

  /// Four ranges, and a farewell that does not hold tests up.
  [[nodiscard]] static LeaseOptions Brisk();

 private:
  std::unique_ptr<Server> server_;
  std::uint16_t port_ = 0;
  std::string address_;
};

}  // namespace stout::docstore
