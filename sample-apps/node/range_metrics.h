#pragma once

#include <boost/json/array.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "http/figures.h"
#include "stout/core/lease_table.h"
#include "stout/core/registry_table.h"

namespace stout::node {

/// The ranges of a table, as the coordinator last reported them to this node, and what this node
/// has done for them. Copies share the records.
struct RangesSnapshot {
  std::string table{};  ///< empty: the default table
  std::string self;     ///< address of this node
  std::shared_ptr<const LeaseTable> leases;
  std::shared_ptr<const RegistryTable> records;  ///< null: the nodes share one store
  std::uint64_t taken = 0;                       ///< RangeServer::taken
  std::uint64_t forwarded = 0;                   ///< Cluster::forwarded

  /// Returns the owner's address, or null if no node owns the range.
  [[nodiscard]] const std::string* OwnerOf(RangeId range) const;
  /// Returns null if the range has no record.
  [[nodiscard]] const RangeRecord* RecordOf(RangeId range) const;
};

/// Appends one family for each metric; docs/NODE.md has their names.
void AppendRanges(std::vector<http::MetricFamily>& families,
                  const std::vector<RangesSnapshot>& tables);
/// The same metrics: [{"stout_node_ranges": {"self": 6, "other": 10, "none": 0}, ...}, ...].
[[nodiscard]] boost::json::array ToArray(const std::vector<RangesSnapshot>& tables);

}  // namespace stout::node
