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
/// It changes only in a transaction of the range's owner (ChangeSet), which compares the epoch of
/// the range's lease and the record's revision.
struct RangeRecord {
  struct Member {
    std::string datalet;  ///< the name of its store in this deployment
    bool in = false;      ///< it has every acknowledged write
    TimePoint since{};    ///< of the last change of `in`, in Unix time
    /// The fill by which it entered last: the owner's epoch, and a number that grows. Zero: it was
    /// the first member. A store that was filled earlier is an old copy, or another server.
    Stamp entered{};
    /// The incarnation of its store, as the last owner saw it (StoreTraits::incarnation).
    std::string incarnation{};

    /// The value of the key by which the member's store shows that it was filled. A fill writes it
    /// last.
    [[nodiscard]] std::string Identity() const;
    /// A store with this value is that one, or one that was filled later.
    [[nodiscard]] bool IsShownBy(std::string_view identity) const;
    /// A store with this incarnation may have lost what it had.
    [[nodiscard]] bool IsRestarted(std::string_view now) const;

    bool operator==(const Member&) const = default;
  };

  std::vector<Member> members;  ///< at most kMaxMembers; an owner only appends to it
  /// Former owners' marks: versions up to the mark are at all members that are in.
  std::map<Epoch, Version> closed;
  /// All states of this epoch and of older ones are at all members that are in.
  Epoch swept = 0;
  bool strong = true;  ///< the mode is sc, otherwise ec

  bool operator==(const RangeRecord&) const = default;
};

/// Returns true if the datalet is a member that is in.
[[nodiscard]] bool IsIn(const RangeRecord& record, std::string_view datalet);

inline constexpr std::uint32_t kMaxMembers = 64;

/// Removes the members that are neither in nor named, so that members can be replaced for ever.
/// A new owner does it before its take-over: under one owner an index names a member.
void RemoveFormerMembers(RangeRecord& record, const std::vector<std::string>& wanted);

/// Why an owner ended its range by itself.
enum class GivenUp : std::uint8_t {
  kFenced,  ///< another owner has the range
  kSilent,  ///< no member that is in answers
  kLost,    ///< all members that are in have lost what they had
  kFull,    ///< former members fill the record; the next owner forgets them
};
/// Returns one line for people, without a full stop.
[[nodiscard]] std::string_view Describe(GivenUp cause);

/// Index into RangeRecord::members.
using MemberIndex = std::uint32_t;
/// One bit for each member. A member beyond kMaxMembers has none.
using MemberMask = std::uint64_t;

constexpr MemberMask MaskOf(MemberIndex member) {
  return member < kMaxMembers ? MemberMask{1} << member : 0;
}

/// Calls `visit(MemberIndex)` for each member in the mask, in order.
template <typename Visit>
constexpr void ForEachMember(MemberMask mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<MemberIndex>(std::countr_zero(mask)));
}

/// An owner's replication watermark: its versions up to this one are at all members that are in.
/// The mark is stored under a key of its own, which is never copied.
struct Mark {
  Epoch epoch = 0;
  Version version = 0;

  bool operator==(const Mark&) const = default;
};

[[nodiscard]] std::string EncodeMark(const Mark& mark);
/// Returns nullopt if the text is not a mark.
[[nodiscard]] std::optional<Mark> ParseMark(std::string_view text);

}  // namespace stout::inline v1
