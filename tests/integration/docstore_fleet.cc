#include "docstore_fleet.h"

#include <fmt/format.h>

#include <future>

namespace stout::docstore {

using namespace std::chrono_literals;

LeaseOptions FleetServer::Brisk() { return {.ranges = 4, .ttl = 1s, .farewell = 50ms}; }

FleetServer::FleetServer(Runner& runner, Store& store, LeaseService& leases,
                         const LeaseOptions& lease_options)
    : server_(std::make_unique<Server>(runner.context(), store, leases, lease_options,
                                       DocumentsOptions{}, http::HttpOptions{})) {
  port_ = server_->Listen("127.0.0.1", 0).value();
  address_ = fmt::format("127.0.0.1:{}", port_);
  server_->Open(address_, [](ErrorCode) {});
}

ErrorCode FleetServer::Drain() {
  std::promise<ErrorCode> drained;
  server_->Drain([&](ErrorCode ec) { drained.set_value(ec); });
  return drained.get_future().get();
}

void FleetServer::Close() {
  std::promise<void> closed;
  server_->Close([&](ErrorCode) { closed.set_value(); });
  closed.get_future().get();
}

bool FleetServer::Serves(const std::string& document) const {
  const int status = Client(port_).Do("GET", "/docs/" + document).status;
  return status == 200 || status == 404;
}

}  // namespace stout::docstore
