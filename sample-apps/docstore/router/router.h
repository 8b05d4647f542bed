#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <string>
#include <utility>

#include "http/http_metrics.h"
#include "http/listener.h"
#include "router/owners.h"
#include "router/router_metrics.h"
#include "router/router_options.h"
#include "router/router_pages.h"
#include "router/routing_session.h"
#include "router/upstream_pool.h"
#include "stout/error.h"
#include "stout/lease_service.h"
#include "stout/unique_function.h"

namespace stout::docstore {

/// A gateway that sends each document's requests to the server that owns it, as a lease service
/// knows.
///
///     Router router(context, *leases, {});
///     router.Listen("127.0.0.1", 8080);
///
/// Owner: refers to context and leases, which outlive it. Destroy it while the context does not
///   run.
/// Threads: all members may be called from any thread.
class Router {
 public:
  Router(boost::asio::io_context& context, LeaseService& leases, const RouterOptions& options);
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  /// As Listener::Listen.
  Result<std::uint16_t> Listen(const std::string& host, std::uint16_t port) {
    return listener_.Listen(host, port);
  }

  /// Accepts no more, answers what it has read, and completes when no connection is left.
  void Drain(UniqueFunction<void()> done) {
    pages_.BeginDrain();
    listener_.Drain(std::move(done));
  }

  /// Cuts all connections now.
  void Close() { listener_.Close(); }

 private:
  void OnLeasesChanged();

  const RouterOptions options_;
  http::HttpMetrics http_;
  http::BodyBudget bodies_;
  RouterMetrics metrics_;
  UpstreamPool pool_;
  Owners owners_;
  RouterPages pages_;
  http::Listener listener_;
  Owners::Subscription subscription_;  // goes first: it refers to the others
};

}  // namespace stout::docstore
