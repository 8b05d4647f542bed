#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "stout/core/batch.h"
#include "stout/core/lease_table.h"
#include "stout/core/random.h"
#include "stout/core/range_record.h"
#include "stout/core/types.h"

namespace stout::internal {

/// The members at which one session reads without the owners of the ranges.
///
///     const RangeRecord::Member* const at = session.Choose(range_id, record, local, queue_of);
///     if (at == nullptr) return AskOwner();
///     ...  // the session's keys, and with the last of them or later: the identity key
///     if (!session.Accept(range_id, *at, incarnation, identity)) return AskOwner();
///
/// Invariants:
/// 1. While a member is in, all reads of a range are at this member, or at the owner. A store never
///    goes back to an older stamp, so the reads at one member do not go back either.
/// 2. No answer of a member counts that came back without what it had.
///
/// Owner: a session.   Threads: none of its own.   Errors: cannot fail.
/// Paper: BespoKV (TPDS'20), per-request consistency. Design: docs/decisions/0036.
class RelaxedReads {
 public:
  /// Returns the length of the queue at a datalet; nullopt if it cannot be called now.
  using QueueOf = std::function<std::optional<std::size_t>(const std::string& datalet)>;

  explicit RelaxedReads(std::uint64_t seed) : random_(seed) {}

  /// Returns the member of the record to read at: the one that was read last, the datalet `local`,
  /// or the one with the shortest queue; ties go by chance. Null: none can be read.
  [[nodiscard]] const RangeRecord::Member* Choose(RangeId range, const RangeRecord& record,
                                                  std::string_view local, const QueueOf& queue_of);

  /// Judges an answer by the state of the member's identity key, in the same batch. `incarnation`:
  /// of the store that was called. Returns false if the values must not be shown.
  [[nodiscard]] bool Accept(RangeId range, const RangeRecord::Member& member,
                            std::string_view incarnation, const StoredState& identity);

  /// Reads the member's mark out of the state of its key, in the same batch. A mark of time zero
  /// shows nothing.
  [[nodiscard]] static Mark MarkOf(const StoredState& mark);

  /// Chooses anew for all ranges.
  void Forget() { chosen_.clear(); }

 private:
  SplitMix64 random_;
  std::map<RangeId, std::string> chosen_;  // datalets
};

/// The past of a session with causal reads, as a Unix time: the session may have seen effects of
/// any change that was made before.
///
/// A member may answer it if the member has all changes until then (Mark::time). What a session is
/// shown may depend on changes that were made before it. If the member's mark covers the state, it
/// was made before the time of the mark. Any other state may have been made just now.
///
/// The clocks of the ranges' owners and of the session's node are taken to agree.
///
/// Owner: a session.   Threads: none of its own.   Errors: cannot fail.
/// Paper: BespoKV (TPDS'20), per-request consistency. Design: docs/decisions/0042.
class CausalToken {
 public:
  [[nodiscard]] TimePoint seen() const { return seen_; }
  /// The session begins anew, with what another has seen.
  void Set(TimePoint seen) { seen_ = seen; }

  /// Returns true if a member with this mark may answer. `swept`: of the range's record
  /// (RangeRecord::swept), read before the mark. A member may lack a state of an epoch that is not
  /// swept, although the session was shown the state by another member.
  [[nodiscard]] bool Accepts(const Mark& mark, Epoch swept) const {
    return mark.time >= seen_ && mark.epoch <= swept + 1;
  }
  /// The session was shown a state with this stamp by a member with this mark.
  void OnMember(Stamp stamp, const Mark& mark, TimePoint now);
  /// The session was shown what may depend on changes until then: by an owner, for example.
  void Add(TimePoint seen) { seen_ = std::max(seen_, seen); }

 private:
  TimePoint seen_{};
};

}  // namespace stout::internal
