#include "http/http_server.h"

#include <memory>
#include <utility>

#include "http/connection.h"

namespace stout::docstore {

HttpServer::HttpServer(boost::asio::io_context& context, HttpHandler& handler, HttpMetrics& metrics,
                       const HttpOptions& options)
    : listener_(context, metrics, options.max_connections,
                [&handler, &metrics, options](SessionSocket socket, Connection::OnEnd on_end) {
                  return std::make_shared<Connection>(std::move(socket), handler, metrics, options,
                                                      std::move(on_end));
                }) {}

}  // namespace stout::docstore
