#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/integration/program.h"
#include "tests/load/deployment_view.h"
#include "tests/load/load_threads.h"
#include "tests/network/tcp_proxy.h"
#include "tests/support/etcd_server.h"
#include "tests/support/eventually.h"
#include "tests/support/history_checker.h"
#include "tests/support/temp_directory.h"

namespace stout::test {

// The store in a node's own directory, if there is such a store in this build.
#ifdef STOUT_HAS_ROCKSDB
inline constexpr char kOwnDatalet[] = "rocksdb:{}/data";
#else
inline constexpr char kOwnDatalet[] = "memory:";
#endif

// stout-nodes that keep each range on several datalets, with leases in a private etcd. All that
// other nodes send to a node goes through a proxy, and so does all that it sends to etcd.
class MemberNodes {
 public:
  struct Options {
    // Of each node, which is started with it; {} is the node's directory.
    std::vector<std::string> datalets = {kOwnDatalet, kOwnDatalet, kOwnDatalet};
    std::string lease_ttl = "2s";
    std::string member_timeout = "1s";
    std::string reply_deadline = "2500ms";
    int min_in = 1;
    std::optional<std::size_t> replicas = {};  // by default each datalet has each range
  };
  // Each node owns its share of them. More would cost time at every start and every change.
  static constexpr std::size_t kRanges = 12;

  // Returns when each range has all members.
  MemberNodes() : MemberNodes(Options()) {}
  explicit MemberNodes(const Options& options);

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] std::vector<int> ports() const;
  // The address by which others know a node.
  [[nodiscard]] std::string address(std::size_t node) const;
  [[nodiscard]] Program& program(std::size_t node) { return *nodes_[node].program; }
  [[nodiscard]] TcpProxy& way_to(std::size_t node) { return *nodes_[node].from_nodes; }
  [[nodiscard]] TcpProxy& way_to_etcd(std::size_t node) { return *nodes_[node].to_etcd; }
  [[nodiscard]] EtcdServer& etcd() { return etcd_; }
  [[nodiscard]] const DeploymentView& view() const { return *view_; }

  // Requires that the node does not run. Its directory is empty afterwards.
  void Wipe(std::size_t node);
  // Starts nodes that have ended by themselves.
  void KeepUp();
  // Waits, and keeps the nodes up meanwhile.
  [[nodiscard]] bool Await(const std::function<bool()>& condition);
  // Waits until each range has this number of members that are in; by default all that it gets.
  [[nodiscard]] bool AwaitMembers(std::optional<std::size_t> members = std::nullopt);
  // Sends a command to a node, by a new connection. Returns the text of an exception if there is no
  // reply.
  [[nodiscard]] static std::string Ask(int port, const std::vector<std::string>& command);
  // Changes the mode and waits until it is in force for each range.
  [[nodiscard]] bool ChangeMode(ReplicationMode mode);

  // Returns the first line of a log that shows a fault of a program, such as a report of a
  // sanitizer; empty if there is none. A node that has ended by such a fault was started again.
  [[nodiscard]] std::string Fault() const;
  // Returns the first line of a log that has one of the texts; empty if there is none.
  [[nodiscard]] std::string Logged(std::initializer_list<const char*> signs) const;
  // The directory of the logs.
  [[nodiscard]] const std::string& logs() const { return directory_.path(); }
  // Copies the logs into the working directory, with a history.
  void Keep(const std::string& name, const std::vector<Operation>& history) const;

 private:
  struct Node {
    std::unique_ptr<TcpProxy> from_nodes, to_etcd;
    std::unique_ptr<Program> program;
  };

  // Leaves no program if it ends early.
  void Start(std::size_t node, const Options& options);
  [[nodiscard]] std::string Directory(std::size_t node) const;

  const std::size_t replicas_;
  const TempDirectory directory_;
  EtcdServer etcd_;
  std::unique_ptr<DeploymentView> view_;
  std::vector<Node> nodes_;
};

// Clients that write at level `all`.
[[nodiscard]] ChaosProtocol WritingAtAll();

// A key of a range.
[[nodiscard]] std::string KeyOf(std::size_t range);

// Waits until this many further operations succeeded.
[[nodiscard]] bool Progress(MemberNodes& nodes, const LoadThreads& load, std::uint64_t operations);

struct MemberRun {
  std::vector<Operation> history;
  Judgement judgement;
  std::uint64_t failed = 0;  // operations before the last reads
  bool served = true;        // The load went on before and after the events.
  bool recovered = true;     // Each key could be read at the end.
  std::string fault;         // MemberNodes::Fault
};

// Clients write and read a few keys by any node while `events` run. Then each key is read by the
// nodes at `readers`, by default all. `name`: of what is kept of a run that is not linearizable.
// `counts`: operations of the history that are judged, by default all.
[[nodiscard]] MemberRun RunUnderLoad(MemberNodes& nodes, const std::string& name,
                                     const std::function<void(const LoadThreads&)>& events,
                                     std::vector<int> readers = {},
                                     const ChaosProtocol& protocol = kRespProtocol,
                                     const std::function<bool(const Operation&)>& counts = {});

// Requires of a run that no operation went wrong for a client, except those that failed.
void CheckRun(const MemberRun& run);

}  // namespace stout::test
