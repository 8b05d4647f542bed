#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/node_service.h"
#include "node/request.h"
#include "node/router.h"
#include "node/table.h"
#include "resp/server/reply_writer.h"
#include "resp/server/session.h"

namespace stout::node {

/// STOUT.RANGE start end [LIMIT n] [VALUES]: the keys from `start` on that are before `end`, in
/// byte order. "" is the beginning and the end of all keys. The reply is the `start` of the next
/// call, or "", and the keys.
///
/// It asks the owners of ranges for pages of keys (STOUT.PAGE), until it has enough. If ranges are
/// intervals of keys, it asks one owner after the other. Otherwise each range may have any key, so
/// it asks all owners at once, and takes the keys up to the end of the shortest page.
///
/// Owner: its connection.   Threads: the connection's.
class RangeScan {
 public:
  /// All outlive it. `table`, `room`: as of Router.
  RangeScan(NodeService& service, Table* const& table, const resp::Session& session,
            ReplyRoom& room)
      : service_(service),
        table_(table),
        session_(session),
        room_(room),
        router_(service, table, session, page_room_) {}

  /// Carries out the command. Its reply is valid until Clear(). All earlier commands of the
  /// connection have been carried out.
  [[nodiscard]] boost::asio::awaitable<void> Run(Request& request);
  void Clear() { replies_ = {}; }

  /// Writes the reply to a STOUT.PAGE that was carried out.
  static void ReplyPage(const Request& request, resp::ReplyWriter& reply);

 private:
  using Found = std::vector<std::pair<std::string, std::string>>;

  // Reads keys from `first` on, and appends them in order. Returns where to go on. Sets
  // request.error if it cannot.
  [[nodiscard]] boost::asio::awaitable<std::optional<std::string>> ReadOn(Request& request,
                                                                          std::string first,
                                                                          std::size_t limit,
                                                                          Found& found);

  NodeService& service_;
  Table* const& table_;
  const resp::Session& session_;
  ReplyRoom& room_;
  ReplyRoom page_room_;  // for the pages of one round, which the reply need not have
  Router router_;
  std::string replies_;
};

}  // namespace stout::node
