#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "stout/adapters/range_server.h"
#include "stout/core/registry_table.h"
#include "stout/error.h"
#include "stout/replicated_map.h"
#include "stout/unique_function.h"

namespace stout {

/// The ranges that all nodes serve, in mode aa+ec: one map for each, without a lease, under the
/// epoch that the range's record names.
///
/// Threads: the strand, unless stated.
class SharedRanges : public std::enable_shared_from_this<SharedRanges> {
 public:
  using GivenUpHandler = UniqueFunction<void(GivenUp)>;
  using Done = UniqueFunction<void(ErrorCode)>;
  using Maker = std::function<std::shared_ptr<ReplicatedMap>(RangeId, const Recorded<RangeRecord>&,
                                                             GivenUpHandler)>;

  SharedRanges(boost::asio::strand<boost::asio::any_io_executor> strand, Maker make)
      : strand_(std::move(strand)), make_(std::move(make)), limit_(strand_) {}

  /// Opens the maps of the ranges that are shared, and ends others. A map that ends sends what it
  /// has: the range's next owner has to be chosen before it fences the members.
  void Follow(const std::map<RangeId, Recorded<RangeRecord>>& sets);
  /// As ReplicatedMap::Want.
  void Want(const std::vector<Replica>& replicas);
  /// Returns the range if its map is open; otherwise null. Any thread.
  [[nodiscard]] RangeServer::Served Find(RangeId range) const;
  /// Ends all maps, and opens none. As MemberRanges::Leave. Any thread.
  void Leave(Done done, Duration limit);
  /// Requires that the maps are no longer used.
  void Clear();

 private:
  struct Shared {
    std::shared_ptr<ReplicatedMap> map;
    RangeServer::Served served;
  };

  void Open(RangeId range, const Recorded<RangeRecord>& record);
  void End(const Shared& former);
  // `apart`: members that the map did not write to at its end.
  void OnEnded(const std::shared_ptr<ReplicatedMap>& map, ErrorCode ec,
               const std::vector<std::string>& apart);
  void CutEnding();
  void FinishLeaving();
  void Publish(RangeId range, RangeServer::Served served);

  const boost::asio::strand<boost::asio::any_io_executor> strand_;
  const Maker make_;
  bool leaves_ = false;
  std::map<RangeId, Shared> ranges_;                          // open or opening
  std::map<std::shared_ptr<ReplicatedMap>, RangeId> ending_;  // they send what they have
  Done left_;                                                 // of Leave
  bool dropped_ = false;                                      // changes, since Leave
  boost::asio::steady_timer limit_;

  std::atomic<bool> any_ = false;                  // of served_, so that other modes need no lock
  mutable std::mutex mutex_;                       // guards what follows
  std::map<RangeId, RangeServer::Served> served_;  // those that are open
};

}  // namespace stout
