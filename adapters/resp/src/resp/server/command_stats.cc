#include "resp/server/command_stats.h"

namespace stout::resp {

void CommandStats::Done(const Command& command, Duration latency, bool failed) {
  Counts& counts = CountsOf(command);
  if (!counts.latency) counts.latency = std::make_unique<Histogram>();
  counts.latency->Record(latency);
  counts.failed += failed;
}

void CommandStats::Error(std::string_view reply) {
  const std::string_view text = reply.substr(1);
  const std::string_view code = text.substr(0, text.find_first_of(" \r"));
  ++total_errors_;
  const auto known = errors_.find(code);
  if (known != errors_.end()) {
    ++known->second;
  } else {
    errors_.emplace(code, 1);
  }
}

}  // namespace stout::resp
