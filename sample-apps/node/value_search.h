#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <optional>
#include <string>

#include "node/node_service.h"
#include "node/request.h"
#include "node/router.h"
#include "node/table.h"
#include "resp/server/search_options.h"
#include "resp/server/session.h"
#include "stout/schema.h"
#include "stout/store.h"

namespace stout::node {

/// SEARCH, GREP, GETATTR and SCHEMA, as in a blowfish-server, if the keys are in such servers.
///
/// A search asks the store. It finds every key whose durable value matches throughout. In the
/// store, a value with a deadline begins with a header (EncodeValue). A search compares this
/// header, too, and finds a key that has expired until it is swept. GETATTR is a GET at the owner
/// of the key, of which it returns a part.
///
/// Owner: its connection.   Threads: the connection's.
class ValueSearch {
 public:
  /// All outlive it. `table`, `room`: as of Router.
  ValueSearch(NodeService& service, Table* const& table, const resp::Session& session,
              ReplyRoom& room)
      : service_(service),
        table_(table),
        session_(session),
        room_(room),
        reader_(service, table, session, value_room_) {}

  /// Carries out the command. Its reply is valid until Clear(). All earlier commands of the
  /// connection have been carried out.
  [[nodiscard]] boost::asio::awaitable<void> Run(Request& request);
  void Clear() { replies_ = {}; }

 private:
  // Returns nullopt, and sets request.error, if no store of the table is known to search.
  [[nodiscard]] std::optional<Schema> SchemaOfTable(Request& request);
  void ShowSchema(const Schema& schema);
  [[nodiscard]] boost::asio::awaitable<void> ReadAttribute(Request& request, const Schema& schema);
  [[nodiscard]] boost::asio::awaitable<void> Search(Request& request, const Schema& schema);
  // Finds keys until there are `wanted`. Returns nothing, with request.error, if it cannot.
  [[nodiscard]] boost::asio::awaitable<SearchResult> Find(Request& request, SearchRequest search,
                                                          const resp::SearchOptions& options,
                                                          std::size_t wanted);

  NodeService& service_;
  Table* const& table_;
  const resp::Session& session_;
  ReplyRoom& room_;
  ReplyRoom value_room_;  // for a value of which the reply has a part
  Router reader_;         // of keys
  std::string replies_;
};

}  // namespace stout::node
