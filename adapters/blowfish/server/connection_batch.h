#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <string>

#include "blowfish/server/batch.h"
#include "blowfish/server/service.h"
#include "resp/server/batch.h"

namespace stout::blowfish {

/// The commands of a connection: their subrequests go to the shards, and the answers are gathered.
///
/// Owner: its connection.   Threads: the connection's.
class ConnectionBatch final : public resp::Batch {
 public:
  /// `service` and `session` outlive it.
  ConnectionBatch(Service& service, resp::Session& session);

  [[nodiscard]] bool Add(resp::Arguments arguments) override;
  [[nodiscard]] std::size_t size() const override { return batch_.requests.size(); }
  [[nodiscard]] bool full() const override;
  [[nodiscard]] boost::asio::awaitable<void> Run(std::string& out) override;
  void Clear() override;

 private:
  [[nodiscard]] boost::asio::awaitable<void> Dispatch();
  // Does the request's on_disk, and waits for it.
  [[nodiscard]] boost::asio::awaitable<void> UseDisk(Request& request);

  Service& service_;
  resp::Session& session_;
  blowfish::Batch batch_;
};

}  // namespace stout::blowfish
