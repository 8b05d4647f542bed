#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "http/http_server.h"
#include "monitor/history.h"
#include "server/documents.h"
#include "server/leased_documents.h"
#include "server/service.h"
#include "stout/lease_service.h"
#include "stout/store.h"

namespace stout::docstore {

/// The whole document service on one io_context.
///
///     Server server(context, store, {}, {});
///     server.Open([&](ErrorCode ec) { if (!ec) server.Listen("127.0.0.1", 8080); });
///
/// Owner: refers to context, store and leases, which outlive it. Destroy it while the context does
///   not run.
/// Threads: all members may be called from any thread.
class Server {
 public:
  using Done = Documents::Done;

  /// Serves all documents of the store.
  Server(boost::asio::io_context& context, Store& store, const DocumentsOptions& documents,
         const http::HttpOptions& http);
  /// Serves the leased documents. Call Listen first, because routers and redirected clients send
  /// requests here from Open on.
  Server(boost::asio::io_context& context, Store& store, LeaseService& leases,
         const LeaseOptions& lease_options, const DocumentsOptions& documents,
         const http::HttpOptions& http);
  /// The same, with each range of documents on several stores.
  Server(boost::asio::io_context& context, const MemberStores& stores, LeaseService& leases,
         const LeaseOptions& lease_options, const DocumentsOptions& documents,
         const http::HttpOptions& http);

  /// Takes the documents over from the former server. `address`: see Documents::Open.
  void Open(Done done) { Open({}, std::move(done)); }
  void Open(const std::string& address, Done done) {
    history_.Start();
    documents_->Open(address, std::move(done));
  }

  /// The runs that GET / shows beside this one: see monitor::ReadRecorded.
  void ShowRecorded(boost::json::array runs) { history_.Show(std::move(runs)); }

  /// Begins to serve; answers the port.
  Result<std::uint16_t> Listen(const std::string& host, std::uint16_t port) {
    return http_.Listen(host, port);
  }

  /// Hands over the ranges that other servers can serve, then accepts nothing more, answers the
  /// requests that it has read, and flushes. Completes after that, with an error if a change could
  /// not be made durable.
  void Drain(Done done);

  /// Cuts connections and forgets what is not durable; completes when nothing more will be sent.
  void Close(Done done);

 private:
  Server(boost::asio::io_context& context, std::unique_ptr<Documents> documents,
         monitor::HistoryRecorder::About about, std::shared_ptr<Tenants> tenants, Store* store,
         const http::HttpOptions& http);

  http::HttpMetrics metrics_;
  const std::unique_ptr<Documents> documents_;
  monitor::CrowdingLog crowding_;
  monitor::HistoryRecorder history_;
  Service service_;
  http::HttpServer http_;
};

}  // namespace stout::docstore
