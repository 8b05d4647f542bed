#include "stout/lease_service.h"

#include <fmt/format.h>

namespace stout::inline v1 {

std::optional<std::string> WhyRefused(const LeaseMember& member, const LeaseTable& table) {
  if (table.ranges.empty() ||
      (table.ranges.size() == member.ranges && table.partition == member.partition)) {
    return std::nullopt;
  }
  return fmt::format(
      "the deployment has {} ranges of partition '{}', but this member has {} of '{}'; start every "
      "member with the same values, or use another name for the deployment",
      table.ranges.size(), table.partition, member.ranges, member.partition);
}

}  // namespace stout::inline v1
