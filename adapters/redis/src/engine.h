#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "layout.h"
#include "operations.h"
#include "server.h"
#include "stout/adapters/pipeline.h"
#include "stout/adapters/redis_store.h"

namespace stout {

// The state that a store's calls need until they have ended, which may be after the store.
class RedisStore::Engine {
 public:
  using Writes = Pipeline<redis::Connection, redis::EncodedWrite, WriteResult>;
  using Reads = Pipeline<redis::Connection, redis::EncodedRead, ReadResult>;

  Engine(const std::shared_ptr<const RedisOptions>& options, const redis::Target& target,
         const redis::Replication& replication, const boost::asio::any_io_executor& strand,
         const std::shared_ptr<redis::LossWatch>& watch)
      : layout(*options),
        replication(replication),
        server(options, target, strand, watch),
        writes(server.pool(redis::Server::Kind::kWrite),
               [layout = layout, replication](redis::Connection& with, Writes::Requests batches) {
                 return redis::Write(with, layout, replication, batches);
               },
               {options->max_queue, {Errc::kTransient, {}}, {Errc::kUnknown, {}}}),
        reads(server.pool(redis::Server::Kind::kRead),
              [layout = layout](redis::Connection& with, Reads::Requests batches) {
                return redis::Read(with, layout, batches);
              },
              {options->max_queue, {Errc::kTransient, {}}, {Errc::kTransient, {}}}) {}

  const redis::Layout layout;
  const redis::Replication replication;
  redis::Server server;
  Writes writes;
  Reads reads;
};

}  // namespace stout
