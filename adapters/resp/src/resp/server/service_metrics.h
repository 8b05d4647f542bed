#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "http/figures.h"
#include "resp/server/service.h"
#include "stout/core/histogram.h"

/// \file
/// The counters of a service for Prometheus and as JSON. INFO has the same ones.

namespace stout::resp {

/// The counters of a service at one moment.
struct ServiceSnapshot {
  struct Counts {
    std::string_view command;
    Histogram latency;
    std::uint64_t rejected = 0;
    std::uint64_t failed = 0;
  };

  ConnectionStats connections;
  std::size_t clients = 0;
  std::vector<Counts> commands;  ///< those that were called or rejected
  std::map<std::string, std::uint64_t, std::less<>> errors;
};

/// Copies the counters.   Threads: the service's.
[[nodiscard]] ServiceSnapshot SnapshotOf(const Service& service);

/// `prefix` precedes every name. It belongs to the program, for example "stout_node_".
void AppendService(std::vector<http::MetricFamily>& families, const ServiceSnapshot& service,
                   const std::string& prefix);
/// {"PREFIXclients": 1, ..., "commands": {"get": {...}}, "PREFIXerrors_total": {"ERR": 1}}
[[nodiscard]] boost::json::object ToObject(const ServiceSnapshot& service,
                                           const std::string& prefix);

}  // namespace stout::resp
