#include "keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "stout/adapters/registry_json.h"

namespace stout::etcd {
namespace {

// The number before the first blank; `*rest` is what follows.
template <typename T>
std::optional<T> ReadNumber(std::string_view text, std::string_view* rest) {
  T number = 0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || (after != end && *after != ' ')) return std::nullopt;
  *rest = after == end ? std::string_view() : std::string_view(after + 1, end);
  return number;
}

}  // namespace

std::string Encode(const Deployment& deployment) {
  // Earlier versions of this library write and read no name, and have kHashPartition only.
  const bool hash = deployment.partition == kHashPartition;
  return fmt::format("{} {}{}{}", deployment.ranges, deployment.epoch_base, hash ? "" : " ",
                     hash ? "" : deployment.partition);
}

std::optional<Deployment> DecodeDeployment(std::string_view value) {
  std::string_view rest;
  const auto ranges = ReadNumber<RangeId>(value, &rest);
  const auto epoch_base = ReadNumber<Epoch>(rest, &rest);
  if (!ranges || *ranges == 0 || *ranges > kMaxRanges || !epoch_base) return std::nullopt;
  if (rest.empty()) rest = kHashPartition;
  if (!IsPartitionName(rest)) return std::nullopt;
  return Deployment{*ranges, *epoch_base, std::string(rest)};
}

std::string Encode(SessionId session) { return fmt::format("{}", session); }

std::optional<SessionId> DecodeSession(std::string_view value) {
  std::string_view rest;
  const auto session = ReadNumber<SessionId>(value, &rest);
  return rest.empty() ? session : std::nullopt;
}

std::optional<std::string> WhyNoDeployment(std::string_view name) {
  // The name is not shown: if a password has a "/", it is a part of the password.
  if (name.empty()) return "the name of the deployment is empty";
  if (name.find(kTableMark) != name.npos) {
    return fmt::format("the name of the deployment has '{}', which separates tables: use another",
                       kTableMark);
  }
  // NAME/set/config would be a record of the deployment NAME.
  for (const std::string_view kind :
       {"member", "range", "set", "datalet", "table", "wanted-owner", "clock"}) {
    if (fmt::format("{}/", name).find(fmt::format("/{}/", kind)) != std::string::npos) {
      return fmt::format(
          "the name of the deployment has the part '/{}', as another's keys have: use another",
          kind);
    }
  }
  return std::nullopt;
}

std::string Keys::end() const {
  std::string end = prefix_;
  ++end.back();  // '/' becomes '0'
  return end;
}

std::string Keys::OfMember(SessionId session) const {
  return fmt::format("{}{}", OfMembers(), session);
}

std::string Keys::OfRange(RangeId range) const { return fmt::format("{}range/{}", prefix_, range); }

bool Keys::MayBeRecord(std::string_view key) const {
  if (!key.starts_with(prefix_)) return false;
  key.remove_prefix(prefix_.size());
  return key != "deployment" && !key.starts_with("member/") && !key.starts_with("range/");
}

LeaseTable TableOf(const Keys& keys, const Entries& entries) {
  LeaseTable table;
  const auto found = entries.find(keys.OfDeployment());
  if (found == entries.end()) return table;
  const std::optional<Deployment> deployment = DecodeDeployment(found->second.value);
  if (!deployment) return table;
  table.ranges.resize(deployment->ranges);
  table.partition = deployment->partition;
  const std::string members = keys.OfMembers();
  for (auto it = entries.lower_bound(members);
       it != entries.end() && it->first.starts_with(members); ++it) {
    table.members.push_back(it->second.value);
  }
  std::sort(table.members.begin(), table.members.end());
  table.members.erase(std::unique(table.members.begin(), table.members.end()), table.members.end());
  for (RangeId range = 0; range < deployment->ranges; ++range) {
    const auto taken = entries.find(keys.OfRange(range));
    if (taken == entries.end()) continue;
    const auto session = DecodeSession(taken->second.value);
    const auto member = session ? entries.find(keys.OfMember(*session)) : entries.end();
    if (member == entries.end()) continue;
    table.ranges[range] =
        Lease{member->second.value, *session, deployment->epoch_base + taken->second.created};
  }
  return table;
}

RegistryTable RecordsOf(const Keys& keys, const Entries& entries) {
  RegistryTable table;
  for (const auto& entry : entries) UpdateRecord(keys, entries, entry.first, &table);
  return table;
}

void UpdateRecord(const Keys& keys, const Entries& entries, const std::string& key,
                  RegistryTable* table) {
  if (!keys.MayBeRecord(key)) return;
  const std::string_view record = std::string_view(key).substr(keys.prefix().size());
  internal::Remove(record, table);
  const auto found = entries.find(key);
  if (found == entries.end()) return;
  AddRecord(record, fmt::format("etcd key '{}'", key), found->second.value, found->second.modified,
            table);
}

}  // namespace stout::etcd
