#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "stout/adapters/member_ranges.h"
#include "stout/core/registry_table.h"
#include "stout/core/types.h"
#include "stout/registry.h"

namespace stout {

/// Keeps the datalets that this node brings in the registry. One that the node serves goes with its
/// session and is added again under the next, or if its record is gone. One with a URL is added
/// once, so that its removal lasts.
///
/// An id stands for the data of one store. A datalet whose id belongs to another is not added. If
/// two nodes have added one URL under two ids, the later record is marked as leaving.
///
/// Deletes the record of a datalet that is leaving, once it is in for no range. All nodes do so.
///
/// Owner: refers to the registry, which outlives it.
/// Threads: none of its own.
/// Errors: logged; it tries again.
class Registration {
 public:
  explicit Registration(Registry& registry) : registry_(registry) {}

  void Bring(std::vector<OwnDatalet> own);
  /// `session`: of this node; not zero. Call it from time to time.
  void Tick(const RegistryTable& records, SessionId session, TimePoint now);

 private:
  struct Own {
    OwnDatalet datalet;
    // Under which it was added last; answers come on any thread.
    std::shared_ptr<std::atomic<SessionId>> registered;
    TimePoint due{};  // of the next attempt
    bool complained = false;
  };

  void Add(Own& own, const RegistryTable& records, SessionId session, TimePoint now);
  void RemoveDouble(Own& own, const RegistryTable& records, TimePoint now);
  void RemoveLeft(const RegistryTable& records, TimePoint now);

  Registry& registry_;
  std::vector<Own> own_;
  std::map<std::string, TimePoint> removals_;  // the next attempt to delete a record, by id
};

}  // namespace stout
