#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "stout/core/batch.h"
#include "stout/core/effects.h"
#include "stout/core/errc.h"
#include "stout/core/range_record.h"
#include "stout/core/registry_table.h"
#include "stout/core/types.h"

namespace stout::internal {

/// The actions that a RangeKeeper gives to its driver, which carries them out in order and at once.
namespace range {

/// Names one call. The driver answers each call. If a call has no answer within the driver's own
/// timeout, the driver answers kUnknown.
using Attempt = std::uint64_t;

// Calls of a member's store that bypass its engine. All are under our epoch, in the range's scope.
struct Fence {
  Attempt attempt;
  MemberIndex member;
  bool operator==(const Fence&) const = default;
};
struct Fenced {  ///< the answer to Fence
  Errc errc = Errc::kOk;
  std::string incarnation{};  ///< of the store
};
struct Read {
  Attempt attempt;
  MemberIndex member;
  std::vector<std::string> keys;
  bool values = true;  ///< as ReadBatch::values
  bool operator==(const Read&) const = default;
};
struct Scan {
  Attempt attempt;
  MemberIndex member;
  ScanRequest request;
  bool operator==(const Scan&) const = default;
};
struct Copy {
  Attempt attempt;
  MemberIndex member;
  std::vector<WriteItem> items;  ///< with their versions, which may be 0
  bool operator==(const Copy&) const = default;
};

/// The transaction of the coordinator, made by ChangeSet.
struct Commit {
  Attempt attempt;
  RegistryChange change;
  bool operator==(const Commit&) const = default;
};

// Calls of the driver's own parts.
/// Open an engine for this member, under our epoch and with an empty dirty table. It must use the
/// store handle that Fence used, so that a store that restarted since then answers kLost.
struct Open {
  MemberIndex member;
  bool operator==(const Open&) const = default;
};
/// Close the member's engine.
struct Shut {
  MemberIndex member;
  bool operator==(const Shut&) const = default;
};
/// Ask each of these members' engines for a barrier, and report to ReplicaSet::OnReply.
struct Barrier {
  ReplyId id;
  MemberMask members;
  bool operator==(const Barrier&) const = default;
};
/// Read the key as a strong read does. If the key is dirty, answer `again` at once.
struct Settle {
  FetchId id;
  std::string key;
  bool operator==(const Settle&) const = default;
};
/// Change the key at all members, as a client would, and answer with OnChanged at once.
struct Change {
  Attempt attempt;
  std::string key;
  StoredState state;
  MemberMask members = 0;  ///< 0: all that get changes
  bool operator==(const Change&) const = default;
};

// Notifications.
/// The takeover is done: requests may be served. The owner of a shared range serves none.
struct Serve {
  bool operator==(const Serve&) const = default;
};
/// A fill or a sweep failed because of this key of the member, and is tried again later. Or a lazy
/// member goes without the key. `errc` is kRefused or kTooLarge if the member's store will never
/// take the key's state, and kCorrupt if the state cannot be read. An empty key means that the
/// member itself cannot be read.
struct Unfillable {
  MemberIndex member;
  std::string key;
  Errc errc;
  bool operator==(const Unfillable&) const = default;
};
/// All members that are in were restarted and may have lost states. This member has the newest
/// mark, so the range continues from its states, and the other members are filled from it.
struct Revert {
  MemberIndex member;
  bool operator==(const Revert&) const = default;
};
/// This owner gives the range up: stop all engines, and give the lease back.
struct GiveUp {
  GivenUp cause;
  bool operator==(const GiveUp&) const = default;
};

using Action = std::variant<Fence, Read, Scan, Copy, Commit, Open, Shut, Barrier, Settle, Change,
                            Serve, Unfillable, Revert, GiveUp>;

}  // namespace range

/// Set in the ids of the actions' replies and fetches, and clear in those of clients.
inline constexpr std::uint64_t kKeepersOwn = std::uint64_t{1} << 63;

/// Prefix of keys that belong to a member itself. They are never copied.
inline constexpr KeyView kInternalKeys = "stout:";

/// Returns the key of RangeRecord::Member::Identity, for a range with this scope.
[[nodiscard]] inline std::string IdentityKeyOf(const Scope& scope) {
  return std::string(kInternalKeys) + "datalet:" + scope;
}

/// The key of the Mark of a range with this scope.
[[nodiscard]] inline std::string MarkKeyOf(const Scope& scope) {
  return std::string(kInternalKeys) + "mark:" + scope;
}

}  // namespace stout::internal
