#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "stout/core/batch.h"
#include "stout/core/errc.h"
#include "stout/core/random.h"
#include "stout/core/range_record.h"
#include "stout/core/replica_set.h"
#include "stout/core/types.h"

namespace stout::internal {

/// The requests of a StrongReads to its driver.
namespace reads {

/// Read the key at this member, and answer with OnFetched.
struct Fetch {
  MemberIndex member;
  FetchId token;
  std::string key;

  bool operator==(const Fetch&) const = default;
};

/// Write this state again, as a client would, under a version of this owner (read repair). Answer
/// with EndReads or OnRepairRefused at once.
struct Repair {
  std::string key;
  StoredState state;

  bool operator==(const Repair&) const = default;
};

/// The end of a read. `again`: the key changed or is being repaired. Its newest state is in memory.
/// If that state is already durable and no longer in memory, another Read finds it.
struct Done {
  FetchId id;
  Errc errc = Errc::kOk;
  bool again = false;
  StoredState state;

  bool operator==(const Done&) const = default;
};

struct Effects {
  std::vector<Fetch> fetches;
  std::vector<Repair> repairs;
  std::vector<Done> done;

  [[nodiscard]] bool empty() const { return fetches.empty() && repairs.empty() && done.empty(); }
};

}  // namespace reads

/// Strong reads of keys that are not in memory. They show settled states only.
///
/// A read asks one member. Until the sweep of its epoch, it asks all that are in: one of them may
/// have an unacknowledged state of a former owner. If one of their states is not settled, the read
/// repairs the newest state, even if that one is settled. So what an owner has shown changes only
/// by its clients. Otherwise a delete under way when the former owner died could take effect at the
/// sweep, after a request that relies on what it deletes. A change of the key ends the reads under
/// way, so a state that a read found never overwrites a newer change.
///
/// In a shared range each member may lack what others have. So a read asks all members that are in,
/// and shows the newest state. After the sharing, until the sweep, a read also asks the members
/// that are only read. While one is missing, it repairs no state of the shared epoch, because that
/// member may have a newer one: the read shows it as in a shared range. A damaged state counts for
/// nothing in a shared range, and at a member that is only read, because no merge or sweep could
/// get it either. After any other error the read fails, because the member may have the newest
/// state.
///
/// Owner: the driver of a range.   Threads: none of its own.   Errors: cannot fail. A Read that
/// throws std::bad_alloc has done nothing.
class StrongReads {
 public:
  /// `set` must outlive this object.
  StrongReads(const ReplicaSet& set, std::uint64_t seed) : set_(set), random_(seed) {}

  /// Starts a read. Requires that the key is dirty at no member.
  void Read(KeyView key, FetchId id);
  /// Takes a member's answer. `errc` is kClosed if the member's engine was closed, and kLost if its
  /// store has lost its data. Such an answer counts for nothing, because the member leaves.
  void OnFetched(FetchId token, MemberIndex member, Errc errc, StoredState state);
  /// Ends the reads of the key, because it changes now, or its change was refused. Their callers
  /// read again.
  void EndReads(KeyView key);
  /// Records that the repair was not carried out. Its reads fail.
  void OnRepairRefused(KeyView key, Errc errc);
  /// Records that members came or left. Reads that wait for a member that left ask again, or fail
  /// if none is left.
  void OnMembersChanged();
  /// Fails all reads, because the range is lost.
  void FailAll(Errc errc);

  [[nodiscard]] reads::Effects TakeEffects() { return std::exchange(effects_, {}); }

 private:
  struct Entry {
    std::vector<FetchId> ids;
    FetchId token = 0;
    bool answered = false;   // at least one member has shown its state
    bool unsettled = false;  // at least one answer is not settled
    MemberMask asked = 0;    // by the last Send
    MemberMask wanted = 0;   // members that have not answered
    StoredState newest;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  void Send(Entries::iterator found);
  void End(Entries::iterator found, Errc errc, bool again);

  const ReplicaSet& set_;
  SplitMix64 random_;
  FetchId last_token_ = 0;
  Entries entries_;
  std::map<FetchId, std::string> tokens_;
  reads::Effects effects_;
};

}  // namespace stout::internal
