#pragma once

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
///     ...                        // one batch: the member's identity key, then the session's keys
///     if (!session.Accept(range_id, *at, incarnation, identity)) return AskOwner();
///
/// Invariants:
/// 1. While a member is in, all reads of a range are at this member, or at the owner. A store never
///    goes back to an older stamp, so the reads at one member do not go back either.
/// 2. No answer of a member counts that came back without what it had.
///
/// Owner: a session.   Threads: none of its own.   Errors: cannot fail.
/// Paper: BespoKV (TPDS'20), per-request consistency; CLUSTER 5.5.
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

  /// Returns the Unix time up to which a member has all changes, by the state of its mark's key, in
  /// the same batch. The clock is that of the range's owner. Zero: not known.
  [[nodiscard]] static TimePoint CompleteUntil(const StoredState& mark);

  /// Chooses anew for all ranges.
  void Forget() { chosen_.clear(); }

 private:
  SplitMix64 random_;
  std::map<RangeId, std::string> chosen_;  // datalets
};

}  // namespace stout::internal
