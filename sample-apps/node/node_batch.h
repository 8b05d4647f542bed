#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "node/execution.h"
#include "node/node_service.h"
#include "node/transaction.h"
#include "resp/server/batch.h"
#include "resp/server/words.h"

namespace stout::node {

/// The commands of a connection that go to the map's strand and back together.
///
/// Owner: its connection.   Threads: the connection's.
class NodeBatch final : public resp::Batch {
 public:
  /// `service` and `session` outlive it.
  NodeBatch(NodeService& service, resp::Session& session);

  [[nodiscard]] bool Add(resp::Arguments arguments) override;
  [[nodiscard]] std::size_t size() const override { return requests_.size(); }
  [[nodiscard]] bool full() const override;
  [[nodiscard]] boost::asio::awaitable<void> Run(std::string& out) override;
  void Clear() override;

 private:
  // Finds the command and what is wrong with it before the strand has it.
  void Resolve(Request& request) const;
  void Check(Request& request) const;
  // Handles MULTI and EXEC. Inside a transaction it queues every other command.
  void Transact(Request& request);
  void Queue(Request& request);
  void TakeQueue(Request& request);
  void Join(std::string& out);
  void Reply(Request& request, std::string& out);

  NodeService& service_;
  resp::Session& session_;
  Transaction transaction_;
  std::vector<Request> requests_;
  resp::Words words_;     // of queued commands
  bool on_keys_ = false;  // a request goes to the strand
  Execution execution_;
};

}  // namespace stout::node
