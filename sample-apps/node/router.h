#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "node/execution.h"
#include "node/limits.h"
#include "node/node_service.h"
#include "node/request.h"
#include "resp/server/session.h"
#include "resp/server/words.h"
#include "stout/core/relaxed_reads.h"
#include "stout/core/types.h"

namespace stout::node {

/// Carries out the commands of one connection, each where the range of its keys is.
///
/// The commands of one range go together to the strand of its map and back, or to the node that
/// owns it. Those of different ranges run side by side. A range that has no owner at present is
/// waited for until the reply deadline.
///
/// Invariant: commands of one range are carried out in order. One that was not carried out is
/// repeated only if none after it was.
///
/// Owner: its connection.   Threads: the connection's.
class Router {
 public:
  /// All outlive it. `table`: of the connection, which may change between two runs. `room`: for the
  /// values in replies.
  Router(NodeService& service, Table* const& table, const resp::Session& session, ReplyRoom& room);
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;
  ~Router();

  /// The ranges that were written to, and the owner of each at the first write. They are of one
  /// table: clear them when another is used.
  [[nodiscard]] std::map<RangeId, Epoch>& writes() { return writes_; }

  /// The past of the connection, if its reads are causal.
  [[nodiscard]] internal::CausalToken& seen() { return seen_; }

  /// If true, the client is told the owner of a key rather than served through this node.
  void set_redirects(bool redirects) { redirects_ = redirects; }
  [[nodiscard]] bool redirects() const { return redirects_; }

  /// Carries out those requests that are on keys and not `served`. They outlive it with their
  /// arguments, and their replies are valid until Clear().
  [[nodiscard]] boost::asio::awaitable<void> Run(std::span<Request> requests);
  void Clear();

 private:
  // Commands of one range.
  struct Group {
    RangeId range = 0;
    Epoch epoch = 0;
    std::vector<Request*> left;  // to be carried out
    std::optional<Execution> execution;
    std::string replies;
  };

  void Place(Request& request);
  // The owner has answered. `seen`: as Execution::seen.
  void NoteSeen(const Group& group, std::optional<TimePoint> seen);
  void NoteWrites(const Group& group, Epoch owner);
  [[nodiscard]] std::optional<RangeId> RangeOf(const Request& request) const;
  void Add(Request& request, RangeId range);
  void AddPage(Request& request);
  void Split(Request& request);
  void Join(Request& request);

  [[nodiscard]] boost::asio::awaitable<void> RunGroup(Group& group);
  void RefuseStrong(Group& group);
  [[nodiscard]] boost::asio::awaitable<void> RunHere(Group& group);
  [[nodiscard]] boost::asio::awaitable<void> Forward(Group& group, const Lease& owner);
  // Tells the client the owner.
  static void Redirect(Group& group, const std::string& owner);

  NodeService& service_;
  Table* const& table_;
  const resp::Session& session_;
  ReplyRoom& room_;
  bool redirects_ = false;
  std::map<RangeId, Epoch> writes_;
  internal::CausalToken seen_;
  std::vector<std::unique_ptr<Group>> groups_;  // the first `used_` are those of this batch
  std::size_t used_ = 0;
  boost::unordered_flat_map<std::pair<RangeId, Epoch>, std::size_t> by_range_;  // in groups_
  resp::Words words_;                                                           // of parts
  std::string joined_;  // replies of commands that have parts
};

}  // namespace stout::node
