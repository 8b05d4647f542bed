#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <string>

#include "http/http_server.h"
#include "server/documents.h"
#include "server/metrics.h"
#include "server/service.h"
#include "stout/store.h"

namespace stout::docstore {

/// The whole document service on one io_context.
///
///     Server server(context, store, {}, {});
///     server.Open([&](ErrorCode ec) { if (!ec) server.Listen("127.0.0.1", 8080); });
///
/// Owner: refers to context and store, which outlive it. Destroy it while the context does not run.
/// Threads: all members may be called from any thread.
class Server {
 public:
  using Done = Documents::Done;

  Server(boost::asio::io_context& context, Store& store, const DocumentsOptions& documents,
         const HttpOptions& http)
      : documents_(context.get_executor(), store, documents),
        service_(documents_, metrics_),
        http_(context, service_, metrics_, http) {}

  /// Takes the documents over from whoever served them before.
  void Open(Done done) { documents_.Open(std::move(done)); }

  /// Begins to serve; answers the port. After Open.
  Result<std::uint16_t> Listen(const std::string& host, std::uint16_t port) {
    return http_.Listen(host, port);
  }

  /// Accepts no more, answers what it has read, flushes; completes when all that is done, with an
  /// error if something could not be made durable.
  void Drain(Done done);

  /// Cuts connections and forgets what is not durable; completes when nothing more will be sent.
  void Close(Done done);

 private:
  HttpMetrics metrics_;
  Documents documents_;
  Service service_;
  HttpServer http_;
};

}  // namespace stout::docstore
