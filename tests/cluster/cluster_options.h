#pragma once

#include <cstdint>
#include <string>

#include "stout/core/options.h"
#include "stout/core/placement.h"
#include "stout/core/range_keeper.h"
#include "stout/core/replica_set.h"
#include "stout/core/types.h"

namespace stout::sim {

/// Negative controls: mistakes of the drivers of the core or of the coordinator. The world must
/// find each, otherwise its checks prove nothing.
enum class Mistake {
  kNone,
  kEcJudgedAsSc,
  kAnswerBeforeTransaction,  ///< a member counts as out when the transaction is sent
  kNoFence,                  ///< at take-over, with clocks that lie
  kOwnsNeverChecked,
  kUnsettledShown,
  kMarkAtStart,          ///< a mark is written when its barrier starts
  kNoBarrierBeforeScan,  ///< in a fill
  kCopiesAsZero,         ///< all copies have the stamp (E, 0)
  kCopiesAsOne,          ///< copies have the stamp (E, 1)
  kSettleOverChange,     ///< a repair does not give up if the key has changed
  kLaggingRead,          ///< a read goes to a member at which the key is dirty
  kEmptyKept,            ///< a member that came back empty stays in
  kOlderKept,            ///< a member that came back with older data stays in
  kRevisionUnchecked,    ///< the coordinator does not compare the record's revision
  kEntersUncounted,      ///< answers wait for a filled member only after the transaction
  kRelaxedJudgedAsSc,
  kSessionHops,      ///< a session reads now at one member, now at another
  kIdentityIgnored,  ///< a relaxed read shows what a member has that came back with less
  kStalenessIgnored,
  kCausesIgnored,      ///< a causal read is answered by a member that may lack what was seen
  kNewStatesTrusted,   ///< a state that the mark does not cover counts as old
  kUnsweptTrusted,     ///< a causal read is answered before the states of former owners are settled
  kMarkWhileFilling,   ///< a member that is being filled gets marks
  kMarkDatedLate,      ///< a mark has the time at which it is written
  kLevelIgnored,       ///< a write is answered when one member has it
  kLazyCountsAsDirty,  ///< a fill skips a key that is dirty at a lazy member alone
  // In a shared range:
  kClockGoesBack,  ///< a restarted node forgets which versions it has given
  kNoNumber,       ///< all nodes have the same number
  kMergeAsNew,     ///< a merge copies states as if they were new
  kLateWriters,    ///< the next owner does not fence the nodes out
  kAnswerAtOnce,   ///< a write is answered before any member has it
  kMergeUnproved,  ///< a merge copies what a member has that came back with older data
  kMergeTooLate,   ///< a member may be away for longer than stores remember deletes
};

/// How often a thing goes wrong, in a thousand.
struct ClusterFaults {
  // Of a message.
  std::uint64_t lose = 0;
  std::uint64_t late = 0;
  std::uint64_t twice = 0;
  // Of a step of the world.
  std::uint64_t pause_node = 0;  ///< often beyond the ttl
  std::uint64_t crash_node = 0;
  std::uint64_t crash_datalet = 0;  ///< it returns with its data
  std::uint64_t empty_datalet = 0;  ///< it returns at once, without its data or with older data
  std::uint64_t cut_link = 0;       ///< between a node and a datalet
  std::uint64_t split = 0;          ///< nodes are cut apart, each with one datalet
  std::uint64_t slow_datalet = 0;
  std::uint64_t full_datalet = 0;  ///< its writes fail for a while, its reads do not
  std::uint64_t expire = 0;        ///< a store forgets its settled tombstones
  std::uint64_t change_mode = 0;
  std::uint64_t change_wanted = 0;  ///< a datalet joins, leaves, or is replaced
  // Of a change that the keeper asks for.
  std::uint64_t refuse_change = 0;
};

/// A world of one range. Everything in it follows from the seed.
struct ClusterOptions {
  std::uint64_t seed = 0;
  Mistake mistake = Mistake::kNone;
  bool strong = true;   ///< the mode at the start is sc
  bool shared = false;  ///< the mode is aa+ec, at least at times
  std::uint32_t nodes = 2;
  MemberIndex datalets = 3;
  MemberIndex replicas = 3;     ///< members at the start
  MemberIndex in_at_start = 3;  ///< of these
  bool has_lazy = false;        ///< the last datalet is a lazy member, and never another
  Placement place{};            ///< chooses the members; otherwise they change at random
  std::uint32_t keys = 2;
  std::uint32_t clients = 3;
  std::uint32_t steps = 0;  ///< in the phase with faults
  Duration mean_pause{};    ///< between steps

  Duration ttl{};
  Duration min_latency{};
  Duration max_latency{};
  EngineOptions engine;
  internal::ReplicaOptions set;
  internal::RangeKeeperOptions keeper;
  bool synchronized = false;  ///< clocks differ by a few milliseconds at most
  bool durable = true;        ///< a datalet comes back empty, never with older data
  bool has_local = false;     ///< a node prefers one datalet for reads
  std::uint64_t cached = 0;   ///< per thousand: clean values that stay in memory
  std::uint64_t writes = 0;   ///< per thousand requests, likewise
  std::uint64_t erases = 0;
  ClusterFaults faults;
};

[[nodiscard]] ClusterOptions DeriveCluster(std::uint64_t seed, Mistake mistake);

/// All of it in a few lines.
[[nodiscard]] std::string Describe(const ClusterOptions& options);

}  // namespace stout::sim
