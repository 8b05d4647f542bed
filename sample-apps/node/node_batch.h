#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "node/datalet_commands.h"
#include "node/key_walk.h"
#include "node/level_commands.h"
#include "node/levels.h"
#include "node/limits.h"
#include "node/node_service.h"
#include "node/operation_commands.h"
#include "node/range_scan.h"
#include "node/relaxed_reader.h"
#include "node/request.h"
#include "node/router.h"
#include "node/table.h"
#include "node/table_commands.h"
#include "node/tenant_commands.h"
#include "node/transaction.h"
#include "node/value_search.h"
#include "resp/server/batch.h"
#include "resp/server/words.h"

namespace stout::node {

/// The commands that one read of a connection brought.
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
  // Finds the command and what is wrong with it before a map has it.
  void Resolve(Request& request) const;
  void Check(Request& request) const;
  // Returns true if a key of the command is of those that members keep for themselves.
  [[nodiscard]] bool IsOnMembersKey(const Request& request) const;
  // Handles the commands that are about the connection: of transactions, of nodes, and CLUSTER.
  void Transact(Request& request);
  // All nodes serve the range of its first key.
  [[nodiscard]] bool IsShared(const Request& request) const;
  void Reset();
  void Queue(Request& request);
  void TakeQueue(Request& request);
  void TakePeer(Request& request);
  void TakeForwardedExec(Request& request);
  void SetLevels(Request& request);
  void NoteUse(const Request& request);
  // Carries out requests that one Runner takes together.
  [[nodiscard]] boost::asio::awaitable<void> RunAlike(std::span<Request> requests);
  void Watch(Request& request);
  // `most`: the size of `out` that only replies to changes may exceed.
  void Reply(Request& request, std::size_t most, std::string& out);

  NodeService& service_;
  resp::Session& session_;
  Table* table_;         // of the connection
  TenantId tenant_ = 0;  // likewise
  Transaction transaction_;
  Levels levels_;         // likewise
  Epoch peer_epoch_ = 0;  // not 0: the client is a node
  std::vector<Request> requests_;
  resp::Words words_;  // of queued commands
  ReplyRoom reply_room_;
  Router router_;
  RelaxedReader reader_;
  LevelCommands level_commands_;
  KeyWalk walk_;
  ValueSearch search_;
  RangeScan range_scan_;
  DataletCommands datalet_;
  OperationCommands operations_;
  TableCommands tables_;
  TenantCommands tenants_;
};

}  // namespace stout::node
