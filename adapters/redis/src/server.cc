#include "server.h"

#include <utility>

namespace stout::redis {

Server::Server(const std::shared_ptr<const RedisOptions>& options, const Target& target,
               const boost::asio::any_io_executor& strand,
               const std::shared_ptr<LossWatch>& watch) {
  // Shared: what one pool learns of the server, the other knows.
  const auto reconnection = std::make_shared<Reconnection>("redis " + NameOf(target.address));
  const auto make_pool = [&](std::size_t connections) {
    return std::make_shared<Pool>(
        strand, Pool::Options{.connections = connections, .max_queue = options->max_queue},
        reconnection, [options, target, strand, watch] {
          return std::make_unique<Connection>(options, target, strand, watch);
        });
  };
  writers_ = make_pool(options->connections);
  readers_ = make_pool(options->read_connections);
}

bool Server::Submit(Kind kind, Job job) { return pool(kind)->Submit(std::move(job)); }

void Server::Close() {
  writers_->Close();
  readers_->Close();
}

}  // namespace stout::redis
