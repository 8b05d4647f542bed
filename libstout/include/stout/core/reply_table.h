#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "stout/core/effects.h"
#include "stout/core/histogram.h"
#include "stout/core/pool.h"
#include "stout/core/types.h"

namespace stout::internal {

/// Replies that wait until the states that they reveal are durable.
///
/// A *wait* records that a reply needs one key to be durable at a version or a newer one. The waits
/// of a key form a ring, sorted by version; the key's entry in its lane refers to it. The waits of
/// a reply form a chain. Invariants:
///  1. A reply is in the table from Register until it is put into Effects::replies, once.
///  2. A reply's `pending` is the number of its waits that are in a ring. When it reaches zero the
///     reply runs. (While a caller adds waits, one more is pending: see Seal.)
///  3. When a reply ends early (deadline, refusal, close), its waits leave their rings. Otherwise
///     they would accumulate while a store is down for hours.
///  4. Replies with a deadline are linked in the order of their registration and deadlines.
class ReplyTable {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = Pool<int>::kNone;
  /// The waits of one key: kNone, or the index of the ring's sentinel.
  using Ring = Index;

  ReplyTable(Duration deadline, Effects& effects) : deadline_(deadline), effects_(effects) {}

  /// Adds a reply that waits for nothing yet. Follow with DependOn for each key, then Seal.
  Index Register(ReplyId id, TimePoint now);
  /// Adds a flush. It has no deadline, and ends when all its waits have ended, with or without
  /// error.
  Index RegisterFlush(ReplyId id, TimePoint now);
  /// Makes the reply wait for a key. Requires `version` >= every version in the key's ring.
  void DependOn(Index reply, Ring& ring, Version version);
  /// Ends the registration. If `errc` is an error, the reply fails with it.
  void Seal(Index reply, Errc errc, TimePoint now);

  /// Forgets a reply whose caller has given up: it neither runs nor counts. Returns false if reply
  /// `id` has ended already.
  bool Withdraw(Index reply, ReplyId id);

  /// Reports that the key of this ring is durable at `version` (kOk), or that `version` and older
  /// ones will never be durable (an error).
  void Settle(Ring ring, Version version, Errc errc, TimePoint now);

  /// Fails the replies whose deadline has passed.
  void Expire(TimePoint now);
  [[nodiscard]] TimePoint NextDeadline() const;

  [[nodiscard]] std::size_t held() const { return replies_.in_use(); }
  [[nodiscard]] std::uint64_t failed() const { return failed_; }
  [[nodiscard]] const Histogram& latency() const { return latency_; }

 private:
  static constexpr ReplyId kEnded = std::numeric_limits<ReplyId>::max();

  struct Reply {
    ReplyId id;  // kEnded once it has left the table
    TimePoint registered;
    Index first_wait;
    std::uint32_t pending;
    Index older, newer;  // by registration
    Errc errc;           // the first error
    bool is_flush;
  };
  struct Wait {
    Version version;
    Index reply;       // kNone once it has left its ring
    Index prev, next;  // in the ring
    Index chain;       // the reply's next wait
  };
  struct Queue {
    Index oldest = kNone;
    Index newest = kNone;
  };

  Index Add(ReplyId id, TimePoint now, bool is_flush);
  Queue& QueueOf(const Reply& reply) { return reply.is_flush ? flushes_ : queue_; }
  void Unlink(Index wait);
  void EndWait(Index wait, Errc errc, TimePoint now);
  void End(Index reply, Errc errc, TimePoint now);
  void Remove(Index reply);

  Duration deadline_;
  Effects& effects_;
  Pool<Reply> replies_;
  Pool<Wait> waits_;
  Queue queue_;
  Queue flushes_;
  std::uint64_t failed_ = 0;
  Histogram latency_;
};

}  // namespace stout::internal
