#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "stout/core/lease_table.h"
#include "stout/core/registry_table.h"

namespace stout::etcd {

// A Revision is etcd's counter of all changes.

// The permanent record of a deployment.
struct Deployment {
  RangeId ranges = 0;
  Epoch epoch_base = 0;  // An epoch is this plus the revision at which a range was taken.
  std::string partition{kHashPartition};

  bool operator==(const Deployment&) const = default;
};
[[nodiscard]] std::string Encode(const Deployment& deployment);
[[nodiscard]] std::optional<Deployment> DecodeDeployment(std::string_view value);

// The value of a range's key: who has it.
[[nodiscard]] std::string Encode(SessionId session);
[[nodiscard]] std::optional<SessionId> DecodeSession(std::string_view value);

// Between the names of a deployment and of its table. No other deployment's name has it.
inline constexpr std::string_view kTableMark = "::";

// Returns why a name of a deployment could be taken for another's keys; nullopt if it cannot.
[[nodiscard]] std::optional<std::string> WhyNoDeployment(std::string_view name);

// The names of a deployment's keys, all below one prefix.
class Keys {
 public:
  explicit Keys(std::string_view name) : name_(name), prefix_(name_ + '/') {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  // The first name that is behind all of them.
  [[nodiscard]] std::string end() const;
  [[nodiscard]] std::string OfDeployment() const { return prefix_ + "deployment"; }
  // The keys of all members lie from the first of these to before the second.
  [[nodiscard]] std::string OfMembers() const { return prefix_ + "member/"; }
  [[nodiscard]] std::string EndOfMembers() const { return prefix_ + "member0"; }  // '0' is '/' + 1
  [[nodiscard]] std::string OfMember(SessionId session) const;
  [[nodiscard]] std::string OfRange(RangeId range) const;
  // `record`: as RegistryChange::key.
  [[nodiscard]] std::string OfRecord(std::string_view record) const {
    return prefix_ + std::string(record);
  }
  // True for every key except those of leases.
  [[nodiscard]] bool MayBeRecord(std::string_view key) const;
  [[nodiscard]] bool IsOfTable() const { return name_.find(kTableMark) != std::string::npos; }
  // A table is a deployment beside its own: no key of either is below the other's prefix.
  [[nodiscard]] Keys OfTable(std::string_view table) const {
    return Keys(name_ + std::string(kTableMark) + std::string(table));
  }

 private:
  std::string name_;
  std::string prefix_;
};

// All keys of a deployment, as far as they matter.
struct Entry {
  std::string value;
  Revision created = 0;
  Revision modified = 0;
};
using Entries = std::map<std::string, Entry, std::less<>>;

// Returns the table that the entries describe. Foreign keys and values are skipped.
[[nodiscard]] LeaseTable TableOf(const Keys& keys, const Entries& entries);
[[nodiscard]] RegistryTable RecordsOf(const Keys& keys, const Entries& entries);
// Keeps the table of RecordsOf() right after one key has changed.
void UpdateRecord(const Keys& keys, const Entries& entries, const std::string& key,
                  RegistryTable* table);

}  // namespace stout::etcd
