#include "stout/core/relaxed_reads.h"

namespace stout::internal {

const RangeRecord::Member* RelaxedReads::Choose(RangeId range, const RangeRecord& record,
                                                std::string_view local, const QueueOf& queue_of) {
  const auto chosen = chosen_.find(range);
  const bool keeps = chosen != chosen_.end() && IsIn(record, chosen->second);
  const RangeRecord::Member* best = nullptr;
  std::size_t shortest = 0;
  std::uint64_t ties = 0;
  for (const RangeRecord::Member& member : record.members) {
    if (!member.in || (keeps && member.datalet != chosen->second)) continue;
    const auto queue = queue_of(member.datalet);
    if (!queue) continue;
    if (member.datalet == local) return &member;
    if (best == nullptr || *queue < shortest) ties = 0;
    if (best != nullptr && *queue > shortest) continue;
    shortest = *queue;
    if (random_.Next() % ++ties == 0) best = &member;
  }
  return best;
}

bool RelaxedReads::Accept(RangeId range, const RangeRecord::Member& member,
                          std::string_view incarnation, const StoredState& identity) {
  const bool proved = identity.errc == Errc::kOk && identity.found &&
                      member.IsShownBy(identity.value) && !member.IsRestarted(incarnation);
  if (proved) chosen_[range] = member.datalet;
  return proved;
}

Mark RelaxedReads::MarkOf(const StoredState& mark) {
  if (mark.errc != Errc::kOk || !mark.found) return {};
  return ParseMark(mark.value).value_or(Mark());
}

void CausalToken::OnMember(Stamp stamp, const Mark& mark, TimePoint now) {
  seen_ = std::max(seen_, mark.Covers(stamp) ? std::min(mark.time, now) : now);
}

}  // namespace stout::internal
