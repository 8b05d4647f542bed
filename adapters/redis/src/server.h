#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>

#include "connection.h"
#include "stout/adapters/connection_pool.h"

namespace stout::redis {

// The connections to one server, some to write and some to read.
//
// Threads: Generation() on the strand; all other members from any. Jobs run on the strand.
class Server {
 public:
  using Pool = ConnectionPool<Connection>;
  using Job = Pool::Job;
  enum class Kind { kWrite, kRead };

  // `watch` may be null.
  Server(const std::shared_ptr<const RedisOptions>& options, const Target& target,
         const boost::asio::any_io_executor& strand, const std::shared_ptr<LossWatch>& watch);

  // False: too much waits already, and the job is not run.
  [[nodiscard]] bool Submit(Kind kind, Job job);
  [[nodiscard]] const std::shared_ptr<Pool>& pool(Kind kind) const {
    return kind == Kind::kWrite ? writers_ : readers_;
  }
  // Returns another number after any connection was made or was found broken. On the strand.
  [[nodiscard]] std::uint64_t Generation() {
    return writers_->Generation() + readers_->Generation();
  }
  // Ends all connections. Jobs that wait are dropped.
  void Close();

 private:
  std::shared_ptr<Pool> writers_;
  std::shared_ptr<Pool> readers_;
};

}  // namespace stout::redis
