#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stout/core/types.h"

namespace stout::inline v1 {

/// The coordinator's record of one range: its members, and which of its states are settled.
///
/// Only a transaction of the range's owner changes it (ChangeSet). The transaction compares the
/// epoch of the range's lease and the record's revision.
struct RangeRecord {
  struct Member {
    std::string datalet;  ///< the name of its store in this deployment
    bool in = false;      ///< it has every acknowledged write
    TimePoint since{};    ///< of the last change of `in`, in Unix time
    /// The fill after which it last became `in`: the owner's epoch, and a growing number. Zero: it
    /// was the first member. A store that was filled earlier is an old copy or another server.
    Stamp entered{};
    /// The incarnation of its store, as the last owner saw it (StoreTraits::incarnation).
    std::string incarnation{};

    /// Returns the value of the key (IdentityKeyOf) that shows that the member's store was filled.
    /// A fill writes the key last.
    [[nodiscard]] std::string Identity() const;
    /// Returns true if a store with this value is the member's store, or was filled later.
    [[nodiscard]] bool IsShownBy(std::string_view identity) const;
    /// Returns true if a store with this incarnation may have lost states.
    [[nodiscard]] bool IsRestarted(std::string_view now) const;

    bool operator==(const Member&) const = default;
  };

  std::vector<Member> members;  ///< at most kMaxMembers; an owner only appends to it
  /// Former owners' marks. Versions up to the mark are at all members that are in.
  std::map<Epoch, Version> closed;
  /// All states of this epoch and older epochs are at all members that are in.
  Epoch swept = 0;
  bool strong = true;  ///< the mode is sc, otherwise ec
  /// Mode aa+ec: every node writes under this epoch, and the members do not change. 0: the owner
  /// alone writes.
  Epoch shared = 0;
  /// All changes before this time are at all members, which were merged since. In Unix time. Zero:
  /// the range was not shared since its last sweep. See IsAwaited.
  TimePoint merged{};

  bool operator==(const RangeRecord&) const = default;
};

/// Returns true if the datalet is a member that is in.
[[nodiscard]] bool IsIn(const RangeRecord& record, std::string_view datalet);

/// Returns true if the member left between the end of sharing and the next sweep, with what it had.
/// It may be the only one that has an acknowledged change, so the sweep waits for it. Its `since`
/// is the time `merged`.
[[nodiscard]] bool IsAwaited(const RangeRecord& record, const RangeRecord::Member& member);

inline constexpr std::uint32_t kMaxMembers = 64;

/// Removes the members that are neither in nor wanted, so that members can be replaced for ever. A
/// new owner calls it before its takeover, because under one owner an index must name one member.
void RemoveFormerMembers(RangeRecord& record, const std::vector<std::string>& wanted);

/// The reason why an owner gave its range up.
enum class GivenUp : std::uint8_t {
  kFenced,    ///< another owner has the range
  kSilent,    ///< none of the members that are in answers
  kLost,      ///< all members that are in have lost their states
  kFull,      ///< former members fill the record; the next owner removes them
  kUnshared,  ///< the nodes share the range no longer, so its owner needs a newer epoch
};
/// Returns one line for people, without a full stop.
[[nodiscard]] std::string_view Describe(GivenUp cause);

/// Index into RangeRecord::members.
using MemberIndex = std::uint32_t;
/// One bit per member. A member beyond kMaxMembers has no bit.
using MemberMask = std::uint64_t;

constexpr MemberMask MaskOf(MemberIndex member) {
  return member < kMaxMembers ? MemberMask{1} << member : 0;
}

/// Calls `visit(MemberIndex)` for each member in the mask, in order.
template <typename Visit>
constexpr void ForEachMember(MemberMask mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<MemberIndex>(std::countr_zero(mask)));
}

/// An owner's replication watermark: its versions up to `version` are at all members that are in.
/// It is stored at these members under a key of its own, which is never copied. So a member that
/// has the mark has all changes that the owner made before `time`.
struct Mark {
  Epoch epoch = 0;
  Version version = 0;
  TimePoint time{};  ///< Unix time by the owner's clock; zero: not known

  /// Returns true if a state with this stamp was made before `time`.
  [[nodiscard]] bool Covers(Stamp stamp) const {
    return time != TimePoint() && stamp <= Stamp{epoch, version};
  }

  bool operator==(const Mark&) const = default;
};

[[nodiscard]] std::string EncodeMark(const Mark& mark);
/// Returns nullopt if the text is not a mark.
[[nodiscard]] std::optional<Mark> ParseMark(std::string_view text);

}  // namespace stout::inline v1
