#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "stout/core/errc.h"
#include "stout/core/lease_ledger.h"
#include "stout/core/registry_table.h"
#include "stout/core/types.h"

namespace stout::internal {

/// The record, owner and session as the transaction read them.
struct ChangeFacts {
  bool owned = false;     ///< the range is held under the epoch of the change
  bool alive = false;     ///< the change's session is alive
  bool as_asked = false;  ///< the record already is as the change asks
  Revision revision = 0;  ///< of the record
};

struct Judged {
  Errc errc = Errc::kOk;
  ChangeAnswer answer{};

  bool operator==(const Judged&) const = default;
};

/// Returns the answer to a change. If the record already is as asked, the change counts as done,
/// because it may repeat one whose answer was lost. If the record of a DropTable still has the
/// compared revision, it was refused because of live sessions.
[[nodiscard]] Judged Judge(const RegistryChange& change, const ChangeFacts& facts);

/// The records of a registry in one process, beside a LeaseLedger. The calls are documented in
/// stout/registry.h.
///
/// Owner: value type.   Threads: none of its own; callers serialise, and `now` never goes back.
class RegistryLedger {
 public:
  /// Empties a table. Returns false if it has live sessions.
  using Drop = std::function<bool(std::string_view table)>;

  /// Requires WhyInvalid(change) == nullopt. `drop` is called if all comparisons of a DropTable
  /// hold. Null: there is nothing to empty.
  Judged Change(const RegistryChange& change, LeaseLedger& leases, TimePoint now,
                const Drop& drop = nullptr);
  /// Removes all records. No revision is given out again.
  void Clear() { records_.clear(); }
  /// Returns the records, except those whose sessions have ended.
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
