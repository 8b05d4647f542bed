#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "node/node_service.h"
#include "node/request.h"
#include "node/router.h"
#include "node/table.h"
#include "node/tables.h"
#include "resp/server/session.h"

namespace stout::node {

/// STOUT.TABLE: lists, creates and drops tables, and changes the table of a connection.
///
/// Owner: its connection.   Threads: the connection's.
class TableCommands {
 public:
  /// All outlive it. `table`: of the connection. `router`: of the connection.
  TableCommands(NodeService& service, Table*& table, Router& router, const resp::Session& session)
      : service_(service), table_(table), router_(router), session_(session) {}

  /// Carries out the command. Its reply is valid until Clear().
  [[nodiscard]] boost::asio::awaitable<void> Run(Request& request);
  void Clear() { replies_ = {}; }

 private:
  // These return the reply, or set request.error.
  [[nodiscard]] boost::asio::awaitable<std::string> List(Request& request);
  [[nodiscard]] boost::asio::awaitable<std::string> Use(Request& request);
  [[nodiscard]] boost::asio::awaitable<std::string> Create(Request& request);
  // Sets `begun` as soon as it may have changed something.
  [[nodiscard]] boost::asio::awaitable<std::string> Drop(Request& request, bool& begun);
  // Waits until this node has opened a table that is listed. Null after an error.
  [[nodiscard]] boost::asio::awaitable<Table*> Await(Request& request, std::string_view name);
  // Deletes the keys of a table, as far as that is possible now.
  [[nodiscard]] boost::asio::awaitable<void> Empty(Table& table);

  NodeService& service_;
  Table*& table_;
  Router& router_;
  const resp::Session& session_;
  std::string replies_;
};

}  // namespace stout::node
