#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "blowfish/server/batch.h"
#include "blowfish/server/read_time.h"
#include "blowfish/server/work.h"
#include "blowfish/store/shard.h"
#include "stout/core/types.h"

namespace stout::blowfish {

/// A slice of time for a subrequest that looks at many keys.
struct Slice {
  Work work;
  const std::function<TimePoint()>& now;
  const TimePoint end;

  [[nodiscard]] bool over() const { return now() >= end; }
  /// Requires that the request was parsed into a KeySearch.
  [[nodiscard]] ShardSearch& search() const { return *work.batch.search; }
};

/// Subrequests that look at many keys of a shard (GREP, SEARCH, SCAN, STOUT.SCAN, FLUSHALL), and
/// take turns.
///
/// All of them share a slice of time, first come, first served. A subrequest that is not done at
/// the end of the slice waits behind the others. Other requests at the shard, and short ones,
/// therefore wait for one slice, and not for all long ones. A bounded number of searches is open at
/// a time, because each holds the stores that it began with. Further searches wait until one ends.
/// For the writes that a search sees, see ShardSearch.
///
/// Owner: the runner and `read_time` outlive it; sub-batches outlive their time in it.
/// Threads: the shard's worker.
class Slices {
 public:
  using Clock = std::function<TimePoint()>;
  using OnLeave = std::function<void(SubBatch&)>;

  /// `read_time` gets the time of searches that locate or read records by walks, and of their
  /// answers.
  Slices(ShardRunner& runner, Clock now, ReadTime& read_time)
      : runner_(runner), now_(std::move(now)), read_time_(read_time) {}

  /// Makes room for this number of sub-batches in all, before they are added, so that Add() does
  /// not throw. Throws std::bad_alloc.
  void Reserve(std::size_t batches) {
    if (waiting_.capacity() < batches) waiting_.reserve(2 * batches);
  }
  /// Lets the next subrequest of the sub-batch go on in slices.
  void Add(SubBatch& batch) { waiting_.push_back(&batch); }

  /// Returns true if a subrequest could use a slice.
  [[nodiscard]] bool wanted() const { return NextTurn() != waiting_.end(); }
  /// Gives one slice to the subrequests. Calls on_leave(batch) for each sub-batch that needs no
  /// slice until it is added again: its subrequest is answered, or has found keys that must be
  /// deleted first. That call may add sub-batches.
  void Take(const OnLeave& on_leave);

  /// Ends the search of the sub-batch, if there is one.
  void CloseSearch(SubBatch& batch);
  /// From now on slices end with an error, because nothing reads their result.
  void End() { ending_ = true; }
  [[nodiscard]] bool ending() const { return ending_; }

 private:
  using SubBatches = std::vector<SubBatch*>;

  // The sub-batch whose turn it is. The end, if none has one because too many searches are open.
  [[nodiscard]] SubBatches::const_iterator NextTurn() const;
  // Goes on with the subrequest until that time. Returns false if it wants another slice.
  [[nodiscard]] bool GoOn(SubBatch& batch, TimePoint end);

  ShardRunner& runner_;
  const Clock now_;
  ReadTime& read_time_;
  SubBatches waiting_;        // the longest wait first
  std::size_t searches_ = 0;  // That are open.
  bool walked_ = false;       // In its slice, the search located or read a record.
  bool ending_ = false;
};

}  // namespace stout::blowfish
