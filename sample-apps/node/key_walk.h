#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "node/node_service.h"
#include "node/request.h"
#include "node/router.h"
#include "resp/server/session.h"
#include "stout/core/types.h"
#include "stout/store.h"

namespace stout::node {

/// The error of a pass over all keys that the end of the node has cut short.
inline constexpr std::string_view kEnding =
    "TRYAGAIN this node ends: repeat the command at another";

/// The commands on all keys: SCAN, DBSIZE, FLUSHALL and FLUSHDB.
///
/// Each lists the keys of the store in pages. So it shows only durable keys, and every key that
/// exists throughout. With a client that knows which node owns which key, it is about the keys of
/// this node, as in Redis Cluster; the client asks all nodes.
///
/// Owner: its connection.   Threads: the connection's.
class KeyWalk {
 public:
  /// All outlive it. `table`, `room`: as of Router. `router`: of the connection, which also learns
  /// to which ranges FLUSHALL and FLUSHDB write.
  KeyWalk(NodeService& service, Table* const& table, Router& router, const resp::Session& session,
          ReplyRoom& room)
      : service_(service),
        table_(table),
        router_(router),
        session_(session),
        room_(room),
        remover_(service, table, session, room) {}

  /// Carries out the command. Its reply is valid until Clear(). All earlier commands of the
  /// connection have been carried out.
  [[nodiscard]] boost::asio::awaitable<void> Run(Request& request);
  void Clear() { replies_ = {}; }

 private:
  [[nodiscard]] boost::asio::awaitable<void> Scan(Request& request);
  [[nodiscard]] boost::asio::awaitable<void> Count(Request& request);
  [[nodiscard]] boost::asio::awaitable<void> RemoveAll(Request& request);
  // Returns the epoch of each range's owner, or 0; empty if the client does not know the owners.
  [[nodiscard]] std::vector<Epoch> Owners() const;
  // Reads a page of live keys. Returns false, with request.error, if the store cannot.
  [[nodiscard]] boost::asio::awaitable<bool> Read(Request& request, ScanRequest scan,
                                                  ScanResult& page);
  // Returns true if there is a page behind this one, and lets `scan` read it. Sets request.error if
  // the node ends before.
  [[nodiscard]] bool Advance(Request& request, ScanRequest& scan, ScanResult& page) const;
  // Deletes keys, and waits until that is durable at the request's level. Returns true if any may
  // be deleted, also after an error.
  [[nodiscard]] boost::asio::awaitable<bool> Remove(Request& request, const ScanResult& page);

  NodeService& service_;
  Table* const& table_;
  Router& router_;
  const resp::Session& session_;
  ReplyRoom& room_;
  Router remover_;  // of keys
  std::string replies_;
};

}  // namespace stout::node
