#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "node/records.h"
#include "node/request.h"
#include "node/table.h"
#include "resp/server/session.h"
#include "stout/core/lease_table.h"
#include "stout/core/registry_table.h"
#include "stout/core/types.h"

namespace stout::node {

/// Appends the reply of a command of operation to `replies`, unless the command has failed.
void AppendReply(Request& request, std::string_view reply, resp::Resp version,
                 std::string& replies);

/// Reads the mode that a client writes, in any case. Returns nullopt, with an error, if there is
/// none.
[[nodiscard]] std::optional<ReplicationMode> ReadMode(std::string_view text, std::string& error);

/// The commands of those who run a deployment with members: STOUT.STATUS, MODE, DATALET, FORCE and
/// MOVE. MOVE also works if the nodes share one store.
///
/// Owner: its connection.   Threads: the connection's.
class OperationCommands {
 public:
  /// Both outlive it. `table`: as of Router.
  OperationCommands(Table* const& table, const resp::Session& session)
      : table_(table), session_(session) {}

  /// Carries out the command. Its reply is valid until Clear().
  [[nodiscard]] boost::asio::awaitable<void> Run(Request& request);
  void Clear() { replies_ = {}; }

 private:
  static constexpr std::string_view kChanged =
      "TRYAGAIN the records have changed meanwhile: repeat the command";

  // These return the reply, or set request.error.
  [[nodiscard]] boost::asio::awaitable<std::string> Status();
  [[nodiscard]] boost::asio::awaitable<std::string> Mode(Request& request);
  [[nodiscard]] boost::asio::awaitable<std::string> Datalet(Request& request);
  [[nodiscard]] boost::asio::awaitable<std::string> Force(Request& request);
  [[nodiscard]] boost::asio::awaitable<std::string> Move(Request& request);

  // Returns the range that the first argument names, or sets request.error.
  [[nodiscard]] std::optional<RangeId> RangeIn(Request& request) const;

  [[nodiscard]] boost::asio::awaitable<bool> Read(Request& request, RegistryTable& table) {
    return ReadRecords(*table_->cluster->registry, request, table);
  }
  [[nodiscard]] boost::asio::awaitable<bool> Change(Request& request, RegistryChange change) {
    return ChangeRecord(*table_->cluster->registry, request, std::move(change));
  }

  Table* const& table_;
  const resp::Session& session_;
  std::string replies_;
};

}  // namespace stout::node
