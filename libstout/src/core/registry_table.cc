#include "stout/core/registry_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <type_traits>
#include <utility>

#include "stout/core/hybrid_clock.h"
#include "stout/core/parse_number.h"

namespace stout::inline v1 {
namespace {

constexpr std::string_view kConfig = "config";
constexpr std::string_view kDatalet = "datalet/";
constexpr std::string_view kSet = "set/";
constexpr std::string_view kTable = "table/";
constexpr std::string_view kWantedOwner = "wanted-owner/";
constexpr std::string_view kClock = "clock/";

constexpr std::uint64_t kEndOfNumbers = std::uint64_t{1} << 63;  // services store int8

bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
}

std::optional<std::string> WhyNoName(std::string_view kind, std::string_view name) {
  if (IsPrintable(name) && name.find('/') == name.npos && !name.empty() && name.size() <= 200) {
    return std::nullopt;
  }
  return fmt::format("'{}' is no name of a {}: use 1 to 200 printable characters without '/'", name,
                     kind);
}

std::optional<std::string> WhyNot(const Datalet& datalet) {
  if (!datalet.url.empty() && IsPrintable(datalet.url) && IsPrintable(datalet.node)) {
    return std::nullopt;
  }
  return "the datalet needs a URL, and URL and node must have printable characters only";
}

std::optional<std::string> WhyNot(const RangeRecord& set) {
  if (set.members.size() > kMaxMembers) {
    return fmt::format("the set has {} members, but may have {} at most: remove {} of them",
                       set.members.size(), kMaxMembers, set.members.size() - kMaxMembers);
  }
  std::set<std::string_view> ids;
  bool in = false;
  for (const RangeRecord::Member& member : set.members) {
    if (auto why = WhyNoName("datalet", member.datalet)) return why;
    if (!ids.insert(member.datalet).second) {
      return fmt::format("datalet '{}' is twice in the set: name it once", member.datalet);
    }
    in = in || member.in;
  }
  if (in) return std::nullopt;
  return "the set has no member that is 'in': the last one never leaves, keep it";
}

std::optional<std::string> WhyNot(const WantedOwner& wanted) {
  if (!wanted.node.empty() && IsPrintable(wanted.node)) return std::nullopt;
  return "the wanted owner is not an address of printable characters: use that of a node";
}

}  // namespace

std::string_view NameOf(ReplicationMode mode) {
  switch (mode) {
    case ReplicationMode::kMsSc:
      return "ms+sc";
    case ReplicationMode::kMsEc:
      return "ms+ec";
    case ReplicationMode::kAaEc:
      return "aa+ec";
  }
  return "unknown";
}

ReplicationMode ModeOf(const RangeRecord& record) {
  if (record.shared != 0) return ReplicationMode::kAaEc;
  return record.strong ? ReplicationMode::kMsSc : ReplicationMode::kMsEc;
}

std::optional<ReplicationMode> ParseReplicationMode(std::string_view name) {
  if (name == "ms+sc" || name == "aa+sc") return ReplicationMode::kMsSc;
  if (name == "ms+ec") return ReplicationMode::kMsEc;
  if (name == "aa+ec") return ReplicationMode::kAaEc;
  return std::nullopt;
}

std::optional<std::string> WhyInvalid(const ClusterConfig& config) {
  if (config.replicas < 1) return "replicas must be at least 1";
  if (config.min_in < 1 || config.min_in > config.replicas) {
    return fmt::format("min-in is {}: use 1 to replicas ({})", config.min_in, config.replicas);
  }
  if (config.ack < 1 || config.ack > config.replicas) {
    return fmt::format("ack is {}: use 1 to replicas ({})", config.ack, config.replicas);
  }
  if (config.member_timeout < std::chrono::microseconds(1)) {
    return "member-timeout must be at least 1us";
  }
  if (config.ranges < 1 || config.ranges > kMaxRanges) {
    return fmt::format("ranges is {}: use 1 to {}", config.ranges, kMaxRanges);
  }
  if (!IsPartitionName(config.partition)) {
    return fmt::format(
        "'{}' is no partition: use a lowercase letter, then printable ASCII without blanks",
        config.partition);
  }
  return std::nullopt;
}

std::optional<std::string> WhyRefused(const ClusterConfig& wanted, const ClusterConfig& kept) {
  std::string differences;
  const auto compare = [&](std::string_view name, const auto& mine, const auto& theirs) {
    if (mine == theirs) return;
    differences += fmt::format("{}{} is {}, but this node was started with {}",
                               differences.empty() ? "" : "; ", name, theirs, mine);
  };
  const auto micros = [](Duration time) {
    return fmt::format("{}us", std::chrono::floor<std::chrono::microseconds>(time).count());
  };
  compare("mode", NameOf(wanted.mode), NameOf(kept.mode));
  compare("replicas", wanted.replicas, kept.replicas);
  compare("min-in", wanted.min_in, kept.min_in);
  compare("ack", wanted.ack, kept.ack);
  compare("member-timeout", micros(wanted.member_timeout), micros(kept.member_timeout));
  compare("partition", wanted.partition, kept.partition);
  compare("ranges", wanted.ranges, kept.ranges);
  if (differences.empty()) return std::nullopt;
  return fmt::format(
      "the deployment's {}; leave these options out, or use another name for the deployment",
      differences);
}

RegistryChange ChangeConfig(ClusterConfig config, Revision read) {
  return {.key = std::string(kConfig), .value = std::move(config), .read = read};
}

RegistryChange ChangeSet(RangeId range, Epoch epoch, RangeRecord set, Revision read) {
  return {.key = fmt::format("{}{}", kSet, range),
          .value = std::move(set),
          .read = read,
          .owned = RegistryChange::Owned{range, epoch}};
}

RegistryChange AddDatalet(std::string_view id, Datalet datalet, SessionId session) {
  return {
      .key = fmt::format("{}{}", kDatalet, id), .value = std::move(datalet), .session = session};
}

RegistryChange RemoveDatalet(std::string_view id) {
  return {.key = fmt::format("{}{}", kDatalet, id)};
}

RegistryChange WantOwner(RangeId range, std::optional<std::string> node) {
  RegistryChange change{.key = fmt::format("{}{}", kWantedOwner, range)};
  if (node) change.value = WantedOwner{*std::move(node)};
  return change;
}

RegistryChange ReserveVersions(std::uint32_t number, std::uint64_t until, Revision read) {
  return {
      .key = fmt::format("{}{}", kClock, number), .value = ReservedVersions{until}, .read = read};
}

RegistryChange CreateTable(std::string_view name, ClusterConfig config) {
  return {.key = fmt::format("{}{}", kTable, name), .value = std::move(config), .read = 0};
}

RegistryChange DropTable(std::string_view name, Revision read) {
  return {.key = fmt::format("{}{}", kTable, name), .read = read};
}

bool MayBeIn(const RegistryTable& table, std::string_view datalet) {
  const auto damaged = table.damaged.lower_bound(std::string(kSet));
  if (damaged != table.damaged.end() && damaged->first.starts_with(kSet)) return true;
  return std::any_of(table.sets.begin(), table.sets.end(), [&](const auto& set) {
    const RangeRecord& record = set.second.value;
    return std::any_of(record.members.begin(), record.members.end(), [&](const auto& member) {
      return member.datalet == datalet && (member.in || IsAwaited(record, member));
    });
  });
}

std::string_view DroppedTable(const RegistryChange& change) {
  const std::string_view key = change.key;
  return !change.value && key.starts_with(kTable) ? key.substr(kTable.size()) : "";
}

bool IsTableName(std::string_view name) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && name.size() <= 32 && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

std::optional<std::string> WhyInvalid(const RegistryChange& change) {
  const std::string_view key = change.key;
  if (change.read.value_or(0) >= kEndOfNumbers || change.session >= kEndOfNumbers) {
    return "the revision or session is no number that a registry gave: use one that was answered";
  }
  if (key.starts_with(kTable) && !IsTableName(key.substr(kTable.size()))) {
    return fmt::format(
        "'{}' is no name of a table: use 1 to 32 letters a to z, digits and '_', a letter first",
        key.substr(kTable.size()));
  }
  if (key.starts_with(kSet) &&
      (!change.owned || !change.read || key != fmt::format("{}{}", kSet, change.owned->range))) {
    return "a set changes only under the epoch of its range: use ChangeSet";
  }
  if (!change.value) {
    if (key.starts_with(kTable)) {
      if (change.read.value_or(0) != 0) return std::nullopt;
      return "a table is dropped only under its revision: use DropTable with the one that was read";
    }
    if (key.starts_with(kDatalet)) return WhyNoName("datalet", key.substr(kDatalet.size()));
    if (key.starts_with(kWantedOwner)) return std::nullopt;
    return fmt::format("record '{}' is not removed: change it", key);
  }
  RegistryTable table;
  return internal::Place(key, *change.value, 1, &table);
}

}  // namespace stout::inline v1

namespace stout::internal {
namespace {

std::optional<RangeId> RangeIn(std::string_view digits) {
  const auto range = ParseNumber<RangeId>(digits);
  return range && *range < kMaxRanges ? range : std::nullopt;
}

std::string NameIn(std::string_view key, std::string_view prefix) {
  return std::string(key.substr(std::min(prefix.size(), key.size())));
}

}  // namespace

std::optional<std::string> Place(std::string_view key, RegistryValue value, Revision revision,
                                 RegistryTable* table) {
  std::optional<std::string> why;
  if (auto* const config = std::get_if<ClusterConfig>(&value)) {
    why = WhyInvalid(*config);
    if (why) return why;
    if (key == kConfig) {
      table->config = {std::move(*config), revision};
      return why;
    }
    const std::string name = NameIn(key, kTable);
    if (key.starts_with(kTable) && IsTableName(name)) {
      table->tables[name] = {std::move(*config), revision};
      return why;
    }
  } else if (auto* const datalet = std::get_if<Datalet>(&value)) {
    const std::string id = NameIn(key, kDatalet);
    if (key.starts_with(kDatalet)) {
      why = WhyNoName("datalet", id);
      if (!why) why = WhyNot(*datalet);
      if (!why) table->datalets[id] = {std::move(*datalet), revision};
      return why;
    }
  } else if (auto* const set = std::get_if<RangeRecord>(&value)) {
    const auto range = key.starts_with(kSet) ? RangeIn(NameIn(key, kSet)) : std::nullopt;
    if (range) {
      why = WhyNot(*set);
      if (!why) table->sets[*range] = {std::move(*set), revision};
      return why;
    }
  } else if (auto* const wanted = std::get_if<WantedOwner>(&value)) {
    const auto range =
        key.starts_with(kWantedOwner) ? RangeIn(NameIn(key, kWantedOwner)) : std::nullopt;
    if (range) {
      why = WhyNot(*wanted);
      if (!why) table->wanted_owners[*range] = {std::move(*wanted), revision};
      return why;
    }
  } else if (auto* const reserved = std::get_if<ReservedVersions>(&value)) {
    const auto number = key.starts_with(kClock) ? RangeIn(NameIn(key, kClock)) : std::nullopt;
    if (number && *number < HybridClock::kNumbers) {
      table->clocks[*number] = {*reserved, revision};
      return why;
    }
  }
  return fmt::format("record '{}' takes no such value", key);
}

void Remove(std::string_view key, RegistryTable* table) {
  table->damaged.erase(std::string(key));
  if (key == kConfig) {
    table->config.reset();
  } else if (key.starts_with(kDatalet)) {
    table->datalets.erase(NameIn(key, kDatalet));
  } else if (key.starts_with(kTable)) {
    table->tables.erase(NameIn(key, kTable));
  } else if (key.starts_with(kSet)) {
    if (const auto range = RangeIn(NameIn(key, kSet))) table->sets.erase(*range);
  } else if (key.starts_with(kWantedOwner)) {
    if (const auto range = RangeIn(NameIn(key, kWantedOwner))) table->wanted_owners.erase(*range);
  } else if (key.starts_with(kClock)) {
    if (const auto number = RangeIn(NameIn(key, kClock))) table->clocks.erase(*number);
  }
}

}  // namespace stout::internal
