#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <span>
#include <string>

#include "node/node_service.h"
#include "node/request.h"
#include "resp/server/reply_writer.h"
#include "resp/server/session.h"
#include "stout/store.h"

namespace stout::node {

/// Returns true if a store with these traits can be served to other nodes.
[[nodiscard]] bool CanBeServed(const StoreTraits& traits);

/// The commands on the datalet of a node, by which it is a store for other nodes: STOUT.WRITE,
/// READ, SCAN, EPOCH and FENCE. See resp/store/store_commands.h. The datalet is one shard.
///
/// Owner: its connection.   Threads: the connection's; the datalet answers on any.
class DataletCommands {
 public:
  /// Both outlive it.
  DataletCommands(NodeService& service, const resp::Session& session)
      : service_(service), session_(session) {}

  /// Carries out requests of one command, side by side. Their replies are valid until Clear().
  [[nodiscard]] boost::asio::awaitable<void> Run(std::span<Request> requests);
  void Clear();

 private:
  // The requests have valid arguments, except as stated.
  [[nodiscard]] boost::asio::awaitable<void> RunOne(Request& request);
  [[nodiscard]] boost::asio::awaitable<void> Write(Request& request);  // checks its changes
  [[nodiscard]] boost::asio::awaitable<void> Read(Request& request);
  [[nodiscard]] boost::asio::awaitable<void> Scan(Request& request);
  [[nodiscard]] boost::asio::awaitable<void> TakeEpoch(Request& request);
  [[nodiscard]] boost::asio::awaitable<void> Fence(Request& request);
  // Finds out what is wrong with a request before the datalet has it.
  void Check(Request& request) const;

  // Lets `encode(reply)` append the reply, whose keys and values have this number of bytes.
  template <typename Encode>
  void Reply(Request& request, std::size_t bytes, Encode encode);

  NodeService& service_;
  const resp::Session& session_;
  std::string replies_;
};

}  // namespace stout::node
