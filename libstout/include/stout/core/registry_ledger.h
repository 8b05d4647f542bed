#pragma once

#include <map>
#include <string>

#include "stout/core/errc.h"
#include "stout/core/lease_ledger.h"
#include "stout/core/registry_table.h"
#include "stout/core/types.h"

namespace stout::internal {

/// What a coordinator saw in the transaction of a change, after it.
struct ChangeFacts {
  bool owned = false;     ///< the range is held under the epoch of the change
  bool alive = false;     ///< the change's session
  bool as_asked = false;  ///< the record is what the change asks for
  Revision revision = 0;  ///< of the record
};

struct Judged {
  Errc errc = Errc::kOk;
  ChangeAnswer answer{};

  bool operator==(const Judged&) const = default;
};

/// The answer to a change. A record that already is as asked for counts as done, because the change
/// may be the repetition of one whose answer was lost.
[[nodiscard]] Judged Judge(const RegistryChange& change, const ChangeFacts& facts);

/// The records of a registry in one process, beside a LeaseLedger. stout/registry.h documents the
/// calls.
///
/// Owner: value type.   Threads: none of its own; callers serialise, and `now` never goes back.
class RegistryLedger {
 public:
  /// Requires no error of WhyInvalid(change).
  Judged Change(const RegistryChange& change, LeaseLedger& leases, TimePoint now);
  /// Leaves out the records whose sessions have ended.
  [[nodiscard]] RegistryTable Table(const LeaseLedger& leases) const;

 private:
  struct Record {
    RegistryValue value;
    Revision revision;
    SessionId session;
  };

  std::map<std::string, Record> records_;
  Revision last_ = 0;
};

}  // namespace stout::internal
