#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "batch.h"
#include "read_time.h"
#include "shard.h"
#include "stout/core/types.h"

namespace stout::blowfish {

/// Pieces that look at many keys of a shard (GREP, SEARCH, SCAN, STOUT.SCAN, FLUSHALL), and take
/// turns.
///
/// All of them share a slice of time, first come, first served. A piece that is not done at the end
/// of the slice waits behind the others. Other requests at the shard, and short pieces, therefore
/// wait for one slice, and not for all long pieces. A bounded number of searches is open at a time,
/// because each holds the stores that it began with. Further searches wait until one ends. For the
/// writes that a search sees, see ShardSearch.
///
/// Owner: `shard` and `read_time` outlive it; shares outlive their time in it.
/// Threads: the shard's worker.
class ShardTurns {
 public:
  using Clock = std::function<TimePoint()>;
  using OnLeave = std::function<void(Share&)>;

  /// `read_time` gets the time of searches that locate or read records by walks, and of their
  /// answers.
  ShardTurns(Shard& shard, Clock now, ReadTime& read_time)
      : shard_(shard), now_(std::move(now)), read_time_(read_time) {}

  /// Makes room for this number of shares in all, before they are added, so that Add() does not
  /// throw. Throws std::bad_alloc.
  void Reserve(std::size_t shares) {
    if (waiting_.capacity() < shares) waiting_.reserve(2 * shares);
  }
  /// Lets the share's next piece continue in turns.
  void Add(Share& share) { waiting_.push_back(&share); }

  /// Returns true if a piece could use a slice.
  [[nodiscard]] bool wanted() const { return NextTurn() != waiting_.end(); }
  /// Gives one slice to the pieces. Calls on_leave(share) for each share that needs no turn until
  /// it is added again: its piece is answered, or has found keys that must be deleted first. That
  /// call may add shares.
  void Take(const OnLeave& on_leave);

  /// Ends the search of the share, if there is one.
  void CloseSearch(Share& share);
  /// From now on turns end with an error, for nobody reads what they would find.
  void End() { ending_ = true; }
  [[nodiscard]] bool ending() const { return ending_; }

 private:
  using Shares = std::vector<Share*>;

  // Whose turn it is: the end, if nobody's, for too many searches are open already.
  [[nodiscard]] Shares::const_iterator NextTurn() const;
  // Each goes on with the piece until that time. False: it wants another turn.
  [[nodiscard]] bool GoOn(Share& share, TimePoint end);
  [[nodiscard]] bool GoOnFinding(Share& share, Piece& piece, TimePoint end);
  // Counts until that time. True: there is more.
  [[nodiscard]] bool CountOn(ShardSearch& search, std::uint64_t& matches, TimePoint end);
  [[nodiscard]] bool GoOnFlushing(Share& share, Piece& piece, TimePoint end);
  void Scan(Share& share, Piece& piece);
  void OpenSearch(Share& share, const LogQuery& query);

  Shard& shard_;
  const Clock now_;
  ReadTime& read_time_;
  Shares waiting_;            // the longest wait first
  std::size_t searches_ = 0;  // That are open.
  bool walked_ = false;       // In its turn, the search located or read a record.
  bool ending_ = false;
};

}  // namespace stout::blowfish
