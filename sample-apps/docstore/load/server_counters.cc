#include "load/server_counters.h"

#include <array>
#include <charconv>

namespace stout::load {
namespace {

// `name{lane="0"} 123` or `name 123`; a time stamp may follow the value.
std::optional<double> ValueOf(std::string_view line, std::string_view name) {
  if (!line.starts_with(name)) return std::nullopt;
  line.remove_prefix(name.size());
  if (line.starts_with('{')) {
    const std::size_t brace = line.rfind('}');
    if (brace == std::string_view::npos) return std::nullopt;
    line.remove_prefix(brace + 1);
  }
  if (!line.starts_with(' ')) return std::nullopt;  // a longer name
  line.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(line.begin(), line.end(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace

double ServerCounters::BatchSize() const {
  return batches_sent > 0 ? writes_sent / batches_sent : 0;
}

double ServerCounters::CollapseRatio() const {
  return writes_sent > 0 ? keys_marked / writes_sent : 0;
}

std::optional<ServerCounters> ParseServerCounters(std::string_view metrics) {
  struct Series {
    std::string_view name;
    double ServerCounters::*counter;
    bool seen = false;
  };
  std::array<Series, 3> wanted = {{{"stout_keys_marked_total", &ServerCounters::keys_marked},
                                   {"stout_writes_sent_total", &ServerCounters::writes_sent},
                                   {"stout_batches_sent_total", &ServerCounters::batches_sent}}};
  ServerCounters sum;
  while (!metrics.empty()) {
    const std::size_t end = metrics.find('\n');
    for (Series& series : wanted) {
      if (const auto value = ValueOf(metrics.substr(0, end), series.name)) {
        sum.*series.counter += *value;
        series.seen = true;
      }
    }
    metrics.remove_prefix(end == std::string_view::npos ? metrics.size() : end + 1);
  }
  for (const Series& series : wanted) {
    if (!series.seen) return std::nullopt;
  }
  return sum;
}

}  // namespace stout::load
