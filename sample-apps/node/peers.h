#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "resp/client/commands.h"
#include "resp/client/connection.h"
#include "stout/core/lease_table.h"
#include "stout/core/types.h"
#include "stout/unique_function.h"

namespace stout::node {

/// Connections to the other nodes of a deployment. Commands that wait for a connection to the same
/// node are sent together. A range whose owner does not answer holds few of the connections.
///
/// Owner: outlives its calls, or the run() of the executor's context.
/// Threads: the executor's, which has one.
class Peers {
 public:
  /// `password`: of all nodes; empty: they require none. A call ends after `timeout`, and the time
  /// to connect. `ranges`: number of ranges of the deployment, at least 1.
  Peers(boost::asio::any_io_executor executor, std::string password, Duration timeout,
        std::size_t ranges);
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  ~Peers();

  /// Call it before the first command. If `tls` is not null then, new connections speak TLS by what
  /// it is at that time. It outlives the commands.
  void UseTls(const std::unique_ptr<boost::asio::ssl::context>& tls) { tls_ = &tls; }

  /// Call it before the first command. New connections begin with this command.
  void Greet(std::vector<std::string> command) { greeting_ = std::move(command); }

  [[nodiscard]] boost::asio::any_io_executor get_executor() const { return executor_; }

  /// Sends commands on keys of a range to the node at an address like "10.0.0.7:7001". Errors:
  /// kTransient and kBadUrl if they were not sent, kUnknown if some may have been carried out.
  [[nodiscard]] boost::asio::awaitable<resp::Outcome> Run(std::string address, RangeId range,
                                                          const resp::Commands& commands);

  /// Makes commands that end after this time.
  using MakeCommands = std::function<resp::Commands(Duration left)>;
  /// As Run, by a connection of its own, for commands that may wait long. They end after `timeout`,
  /// and the time to connect, which is at most as long. A node gets few such commands at once; more
  /// wait for their turn, with kTransient if it does not come in time.
  [[nodiscard]] boost::asio::awaitable<resp::Outcome> RunAlone(std::string address,
                                                               MakeCommands make, Duration timeout);

  /// Ends the calls to nodes that have not been members for some seconds, because they may hang.
  /// `members` is sorted. Call it from time to time.
  void KeepOnly(const std::vector<std::string>& members);

 private:
  struct Call {
    RangeId range = 0;
    const resp::Commands& commands;
    UniqueFunction<void(resp::Outcome)> done;
  };
  struct Range {
    std::list<Call> queue;
    std::size_t connections = 0;  // that carry calls of this range
  };
  struct Node {
    std::shared_ptr<const resp::Peer> peer;
    std::string problem;              // in reaching it, the last that was logged
    std::map<RangeId, Range> ranges;  // that have calls
    RangeId last = 0;                 // the range that was taken last
    std::vector<resp::Connection*> busy;
    std::vector<std::unique_ptr<resp::Connection>> idle;
    std::optional<TimePoint> since;  // when it was first seen to be no member
    bool gone = false;               // and is not expected to answer any more
  };

  // The calls of RunAlone to one node.
  struct Alone {
    struct Turn {
      boost::asio::steady_timer timer;
      bool has_come = false;
    };
    std::size_t running = 0;
    std::list<Turn*> queue;
  };
  // Returns false if the turn does not come before the deadline. Otherwise call EndTurn.
  [[nodiscard]] boost::asio::awaitable<bool> AwaitTurn(Alone& alone, TimePoint deadline);
  void EndTurn(const std::string& address);

  [[nodiscard]] std::shared_ptr<resp::Peer> MakePeer(const std::string& address) const;
  void Enqueue(const std::string& address, Call call);
  // Returns true if calls of the range wait, and one more connection may carry them.
  [[nodiscard]] bool MaySend(const Range& range) const;
  // Starts one more connection, if calls wait for it.
  void Start(Node& node);
  // Takes queued calls that one connection sends together, grouped by range. A range that has calls
  // under way goes alone.
  [[nodiscard]] std::list<Call> Take(Node& node) const;
  // `calls`: as from Take. They are done.
  static void Return(Node& node, const std::list<Call>& calls);
  // Sends what is queued for a node, by one connection, until nothing more may be sent.
  [[nodiscard]] boost::asio::awaitable<void> Send(Node& node,
                                                  std::unique_ptr<resp::Connection> connection);

  const boost::asio::any_io_executor executor_;
  const std::string password_;
  const Duration timeout_;
  const std::size_t most_of_range_;  // maximum connections that carry commands of one range
  std::vector<std::string> greeting_;
  const std::unique_ptr<boost::asio::ssl::context>* tls_ = nullptr;
  std::map<std::string, Node, std::less<>> nodes_;  // by address
  std::map<std::string, Alone> alone_;              // likewise, those that have calls
};

}  // namespace stout::node
