#include "stores/comparison_json.h"

#include <boost/json.hpp>
#include <string_view>
#include <thread>
#include <utility>

#include "load/json.h"
#include "stout/sim/json_text.h"

namespace stout::bench {
namespace {

namespace json = boost::json;

constexpr int kOpenLevels = 4;  // down to the contenders

json::object ToJson(const AtRate& at) {
  json::object object = ToJson(at.median.result);
  object["rate_per_s"] = Rounded(at.rate);
  object["client_cpus"] = Rounded(at.median.client_cpus);
  return object;
}

json::object ToJson(const Entry& entry) {
  json::object object{{"name", entry.name}, {"plain", entry.plain}};
  if (entry.sustained) {
    object["sustained"] = ToJson(*entry.sustained);
    object["at_least"] = entry.at_least;
  }
  if (entry.compared) object["compared"] = ToJson(*entry.compared);
  if (entry.light) {
    object["light"] = json::object{{"changes", entry.light->changes},
                                   {"mean_ms", Rounded(entry.light->mean_ms)},
                                   {"p50_ms", Rounded(entry.light->p50_ms)},
                                   {"max_ms", Rounded(entry.light->max_ms)}};
  }
  return object;
}

json::object ToJson(const Comparison& comparison) {
  json::array entries;
  for (const Entry& entry : comparison.entries) entries.push_back(ToJson(entry));
  json::object object{{"store", comparison.store.name}, {"documents", comparison.documents}};
  if (const Entry* const best = comparison.BestPlain()) object["best_plain"] = best->name;
  object["contenders"] = std::move(entries);
  return object;
}

json::object ToJson(const CompareOptions& options) {
  return {{"max_p99_ms", Milliseconds(options.max_p99)},
          {"value_bytes", options.value_bytes},
          {"warmup_ms", Milliseconds(options.fine.warmup)},
          {"measure_ms", Milliseconds(options.fine.measure)},
          {"repetitions", options.repetitions},
          {"resolution", options.search.resolution},
          {"light_load_s", options.light_load_s},
          {"seed", options.seed}};
}

}  // namespace

std::string ToJson(const CompareOptions& options, const std::vector<Comparison>& comparisons,
                   bool interrupted) {
  json::array array;
  for (const Comparison& comparison : comparisons) array.push_back(ToJson(comparison));
  const json::object document{{"format", "stout store-bench 1"},
                              {"when", UtcNow()},
                              {"cpus", std::thread::hardware_concurrency()},
                              {"interrupted", interrupted},
                              {"options", ToJson(options)},
                              {"comparisons", std::move(array)}};
  return sim::JsonText(document, kOpenLevels);
}

}  // namespace stout::bench
