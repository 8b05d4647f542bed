#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "stout/adapters/partition.h"
#include "stout/adapters/range_source.h"
#include "stout/key_map.h"
#include "stout/lease_service.h"
#include "stout/leases.h"

namespace stout {

/// A range that a RangeServer has taken. References may be released on any thread.
struct ServedRange {
  RangeId range;
  Epoch epoch;
  /// Use it on its strand.
  std::shared_ptr<KeyMap> map;
  /// Returns true if this server certainly owns the range under `epoch` at the moment of the call.
  /// Any thread.
  std::function<bool()> owns;
  /// The result of RangeServerOptions::make_state.
  std::shared_ptr<void> state;
  /// All nodes serve the range, in mode aa+ec.
  bool shared = false;
};

struct RangeServerOptions {
  /// The same for all servers of a deployment.
  Partition partition = HashPartition(16);
  /// Time to live of the leases. A server that does not renew its leases within it loses them.
  Duration ttl = std::chrono::seconds(10);
  /// Time for which a server still answers after it has left. Within it, all routers learn that the
  /// server has left.
  Duration farewell = std::chrono::seconds(1);
  /// Maximum time to flush a range, and again to drain it. After it, the range is handed over
  /// without its unwritten changes, and their answers report an unknown outcome. > 0.
  Duration handover_timeout = std::chrono::seconds(10);
  /// Makes what the user keeps beside the map of a range. It may be empty.
  std::function<std::shared_ptr<void>(const ServedRange&)> make_state{};
};

/// Serves the ranges that this server leases, with one map for each range.
///
///     SharedStore source(executor, store, "ranges", {});
///     RangeServer server(executor, source, *service, {.partition = SlotPartition(16)});
///     server.Open("10.0.0.7:7001");
///     ...
///     const RangeId range = server.RangeOf(key);
///     server.Run(range, [&, range](const RangeServer::Served& served) {
///       if (!served) return Misdirected(server.OwnerElsewhere(range));
///       served->map->Get(key, [](ErrorCode ec, const KeyMap::Entry& entry) { Answer(ec); });
///     });
///
/// States of a range:
/// - acquired: a map is made, which fences the former owner as it opens;
/// - served;
/// - released: flushed while it is served, then drained, each within handover_timeout;
/// - lost: every reply that waits fails, and the map is dropped.
///
/// Invariant: an operation gets a map only while this server certainly holds the lease under whose
/// epoch the map was opened. A value that the operation finds in memory in the same turn is the
/// newest. After waiting, check ServedRange::owns again before such a value is used.
///
/// If the stores do not answer for twice the ttl, the membership ends. Other servers take all
/// ranges, and this server takes none until the stores answer again.
///
/// Owner: refers to source and leases, which outlive it. Once it is open, destroy it while the
///   executor's context does not run, even if it is closed or has left: its timers refer to it.
/// Threads: any.
/// Errors: logged. The server retries without end, except if the lease service refuses it.
class RangeServer {
 public:
  using Done = UniqueFunction<void(ErrorCode)>;
  using Served = std::shared_ptr<ServedRange>;  ///< null: not served here
  using Operation = UniqueFunction<void(const Served&)>;

  RangeServer(const boost::asio::any_io_executor& executor, RangeSource& source,
              LeaseService& leases, RangeServerOptions options);
  RangeServer(const RangeServer&) = delete;
  RangeServer& operator=(const RangeServer&) = delete;
  ~RangeServer();

  /// Joins as `address`. Ranges are acquired later. Call it once.
  void Open(const std::string& address);

  [[nodiscard]] const Partition& partition() const { return options_.partition; }
  [[nodiscard]] RangeId RangeOf(std::string_view key) const {
    return options_.partition.RangeOf(key);
  }
  /// Calls `operation` once. If this server certainly owns the range when the operation begins, it
  /// runs on the strand of the range's map, in the order of the calls of Run. Otherwise it gets
  /// null, on any thread and possibly before Run returns; nothing was done.
  void Run(RangeId range, Operation operation);
  /// Returns the address of the server that owns the range; nullopt if none is known, or if it is
  /// this server.
  [[nodiscard]] std::optional<std::string> OwnerElsewhere(RangeId range) const;

  /// Returns the members and owners as the lease service last reported them. Never null.
  [[nodiscard]] std::shared_ptr<const LeaseTable> table() const;

  /// Gives up a range whose map reported kFenced: another server owns it, even if the lease service
  /// still names this server. Does nothing if the range is no longer owned under this epoch.
  void GiveUp(RangeId range, Epoch epoch, ErrorCode ec);

  /// Returns the ranges whose maps are open, opening or draining, in order.
  [[nodiscard]] std::vector<Served> ranges() const;
  /// Returns how often this server has begun to serve a range. The sum over all servers grows by
  /// one whenever a range gets an owner.
  [[nodiscard]] std::uint64_t taken() const { return taken_; }
  /// Returns true while this server is a member.
  [[nodiscard]] bool joined() const;
  /// Returns true if the lease service has refused this server, which is final, and the log has the
  /// reason.
  [[nodiscard]] bool refused() const { return *refused_; }
  /// Returns the session of this member; zero if it is none.
  [[nodiscard]] SessionId session() const;

  /// Hands over every range, leaves the deployment, and waits for `farewell`. `done` gets kUnknown
  /// if changes may have been dropped meanwhile: a hand-over took longer than handover_timeout, or
  /// a range was lost or given up.
  void Leave(Done done);
  /// Fails every reply that waits. Takes no more ranges.
  void Close(Done done);

 private:
  struct Slot {
    Served served;
    bool serving = false;  // open, and not being handed over
  };
  struct Opening;
  struct Handover;

  void OnAcquired(RangeId range, Epoch epoch);
  void OnRelease(RangeId range, LeaseHandlers::Done done);
  void OnLost(RangeId range);
  void OnRefused();

  // A hand-over; all on the manager's strand.
  void Limit(const std::shared_ptr<Handover>& handover);
  void DrainFlushed();
  void DrainRange(const std::shared_ptr<Handover>& handover);
  void EndHandover(const std::shared_ptr<Handover>& handover, ErrorCode ec);
  void CutHandover(const std::shared_ptr<Handover>& handover);

  void OnMade(RangeId range, Epoch epoch, RangeSource::Range made);
  void OpenMap(std::shared_ptr<Opening> opening);
  void OnOpened(std::shared_ptr<Opening> opening, ErrorCode ec);

  /// Checks the stores' health, and repeats this with a timer. Runs on the manager's strand.
  void Check();

  [[nodiscard]] LeaseMember member() const;
  [[nodiscard]] bool IsOurs(RangeId range, Epoch epoch) const;
  /// Empties the slot and returns what it had. Returns null if `epoch` is not the slot's epoch.
  [[nodiscard]] Served TakeOut(RangeId range, std::optional<Epoch> epoch);

  const boost::asio::any_io_executor executor_;
  RangeSource& source_;
  LeaseService& service_;
  const RangeServerOptions options_;
  std::string address_;
  std::unique_ptr<LeaseManager> manager_;
  std::atomic<LeaseManager*> leases_ = nullptr;       // manager_, once there is one
  std::optional<boost::asio::steady_timer> check_;    // on the manager's strand
  std::vector<std::shared_ptr<Handover>> handovers_;  // on the manager's strand
  std::vector<Epoch> wanted_;    // of the map of each range, 0: none; on the manager's strand
  LeaseService::Watch refusal_;  // on the manager's strand
  const std::shared_ptr<std::atomic<bool>> refused_ = std::make_shared<std::atomic<bool>>(false);
  std::atomic<bool> leaving_ = false;
  std::atomic<bool> dropped_ = false;  // changes, since leaving_
  std::atomic<std::uint64_t> taken_ = 0;
  bool suspended_ = false;  // on the manager's strand
  // Guards slots_ and closed_.
  mutable std::mutex mutex_;
  std::vector<Slot> slots_;  // by range
  bool closed_ = false;
};

}  // namespace stout
