#include "http/http_server.h"

#include <memory>
#include <utility>

#include "http/connection.h"

namespace stout::http {

HttpServer::HttpServer(boost::asio::io_context& context, HttpHandler& handler, HttpMetrics& metrics,
                       const HttpOptions& options, const BodyBudget& bodies)
    : listener_(
          context, metrics, options.max_connections,
          [&handler, &metrics, options, bodies](SessionSocket socket, Connection::OnEnd on_end) {
            return std::make_shared<Connection>(std::move(socket), handler, metrics, options,
                                                bodies, std::move(on_end));
          }) {
  metrics.Watch(bodies);
}

}  // namespace stout::http
