#include "server/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <sstream>
#include <string_view>

namespace stout::docstore {
namespace {

namespace json = boost::json;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr double kNanosPerSecond = 1e9;

// --- The figures, in one table per owner: name, help, how to read it ----------------------------

template <typename Stats>
struct Scalar {
  const char* name;
  MetricType type;
  const char* help;
  double (*get)(const Stats&);
};

constexpr auto kCounter = MetricType::Counter;
constexpr auto kGauge = MetricType::Gauge;

template <auto Member>
double Get(const auto& stats) {
  return static_cast<double>(stats.*Member);
}

constexpr Scalar<LaneStats> kLaneScalars[] = {
    {"stout_keys_marked_total", kCounter, "Changes that were taken", Get<&LaneStats::keys_marked>},
    {"stout_marks_pushed_back_total", kCounter, "Changes that met a limit",
     Get<&LaneStats::marks_pushed_back>},
    {"stout_batches_sent_total", kCounter, "Write batches sent, retries included",
     Get<&LaneStats::batches_sent>},
    {"stout_writes_sent_total", kCounter, "Writes in the batches sent",
     Get<&LaneStats::writes_sent>},
    {"stout_sent_bytes_total", kCounter, "Keys and values in the batches sent",
     Get<&LaneStats::bytes_sent>},
    {"stout_writes_done_total", kCounter, "Writes that became durable",
     Get<&LaneStats::writes_done>},
    {"stout_retries_total", kCounter, "Writes that had to be sent again", Get<&LaneStats::retries>},
    {"stout_writes_refused_total", kCounter, "Writes that the store will never take",
     Get<&LaneStats::writes_refused>},
    {"stout_batches_failed_total", kCounter, "Write batches of which nothing was done",
     Get<&LaneStats::batches_failed>},
    {"stout_attempts_timed_out_total", kCounter, "Batches without an answer in time",
     Get<&LaneStats::attempts_timed_out>},
    {"stout_late_answers_total", kCounter, "Answers after the time-out, ignored",
     Get<&LaneStats::late_answers>},
    {"stout_fetches_total", kCounter, "States asked for", Get<&LaneStats::fetches>},
    {"stout_fetches_joined_total", kCounter, "Fetches served by a read that was under way",
     Get<&LaneStats::fetches_joined>},
    {"stout_fetches_local_total", kCounter, "Fetches served from uncommitted state",
     Get<&LaneStats::fetches_local>},
    {"stout_read_batches_sent_total", kCounter, "Read batches sent, retries included",
     Get<&LaneStats::read_batches_sent>},
    {"stout_reads_sent_total", kCounter, "Reads in the batches sent", Get<&LaneStats::reads_sent>},
    {"stout_dirty_keys", kGauge, "Keys that are not yet durable", Get<&LaneStats::dirty_keys>},
    {"stout_dirty_bytes", kGauge, "Bytes that are not yet durable", Get<&LaneStats::dirty_bytes>},
    {"stout_batches_in_flight", kGauge, "Write batches that the store has not answered",
     Get<&LaneStats::batches_in_flight>},
    {"stout_interval_seconds", kGauge, "Spacing between sends that the policy has chosen",
     [](const LaneStats& lane) {
       return static_cast<double>(lane.interval.count()) / kNanosPerSecond;
     }},
    {"stout_gap_seconds", kGauge, "Pause after each answer that the policy has chosen",
     [](const LaneStats& lane) { return static_cast<double>(lane.gap.count()) / kNanosPerSecond; }},
    {"stout_tick_seconds", kGauge, "Period of the timer that the policy sends by",
     [](const LaneStats& lane) {
       return static_cast<double>(lane.tick.count()) / kNanosPerSecond;
     }},
    {"stout_window", kGauge, "Batches in flight that the policy allows", Get<&LaneStats::window>},
    {"stout_fenced", kGauge, "1 if another server owns the keys", Get<&LaneStats::fenced>},
};

constexpr Scalar<ShardSnapshot> kShardScalars[] = {
    {"stout_replies_total", kCounter, "Replies taken",
     [](const ShardSnapshot& shard) { return static_cast<double>(shard.engine.replies); }},
    {"stout_replies_failed_total", kCounter, "Replies run with an error",
     [](const ShardSnapshot& shard) { return static_cast<double>(shard.engine.replies_failed); }},
    {"stout_replies_held", kGauge, "Replies that wait for durability",
     [](const ShardSnapshot& shard) { return static_cast<double>(shard.engine.replies_held); }},
    {"stout_cached_bytes", kGauge, "Keys and values in memory, dirty and clean",
     [](const ShardSnapshot& shard) { return static_cast<double>(shard.cached_bytes); }},
};

constexpr Scalar<HttpSnapshot> kHttpScalars[] = {
    {"docstore_connections", kGauge, "Open connections", Get<&HttpSnapshot::connections>},
    {"docstore_connections_total", kCounter, "Connections accepted",
     Get<&HttpSnapshot::connections_total>},
    {"docstore_connections_refused_total", kCounter, "Connections refused at --max-connections",
     Get<&HttpSnapshot::connections_refused>},
};

// The unit of the values that a histogram was given, in the unit that it is published in.
enum class Unit { kNanoseconds, kItems };

double Scale(Unit unit) { return unit == Unit::kNanoseconds ? kNanosPerSecond : 1; }

template <typename Stats>
struct Distribution {
  const char* name;
  Unit unit;
  const char* help;
  const Histogram& (*get)(const Stats&);
};

constexpr Distribution<LaneStats> kLaneDistributions[] = {
    {"stout_batch_items", Unit::kItems, "Writes in a batch",
     [](const LaneStats& lane) -> const Histogram& { return lane.batch_items; }},
    {"stout_store_latency_seconds", Unit::kNanoseconds, "A batch sent to answered, per attempt",
     [](const LaneStats& lane) -> const Histogram& { return lane.store_latency; }},
    {"stout_wait_seconds", Unit::kNanoseconds, "First unsent change of a key to its sending",
     [](const LaneStats& lane) -> const Histogram& { return lane.wait; }},
};

constexpr Distribution<EngineStats> kReplyLatency = {
    "stout_reply_latency_seconds", Unit::kNanoseconds, "SafeReply to the running of the reply",
    [](const EngineStats& engine) -> const Histogram& { return engine.reply_latency; }};

// --- Prometheus ---------------------------------------------------------------------------------

using Labels = std::vector<ClientMetric::Label>;

// Bucket bounds in the published unit.
const std::vector<double>& Bounds(Unit unit) {
  static const std::vector<double> seconds = {.0001, .00025, .0005, .001, .0025, .005, .01, .025,
                                              .05,   .1,     .25,   .5,   1,     2.5,  5,   10};
  static const std::vector<double> items = {1,   2,   4,   8,    16,   32,  64,
                                            128, 256, 512, 1024, 2048, 4096};
  return unit == Unit::kNanoseconds ? seconds : items;
}

ClientMetric ToMetric(const Histogram& histogram, Unit unit, Labels labels) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.histogram.sample_count = histogram.count();
  metric.histogram.sample_sum = histogram.sum() / Scale(unit);
  for (const double bound : Bounds(unit)) {
    const auto in_own_unit = static_cast<std::uint64_t>(bound * Scale(unit));
    metric.histogram.bucket.push_back({histogram.CountAtMost(in_own_unit), bound});
  }
  return metric;
}

ClientMetric ToMetric(double value, MetricType type, Labels labels) {
  ClientMetric metric;
  metric.label = std::move(labels);
  (type == kCounter ? metric.counter.value : metric.gauge.value) = value;
  return metric;
}

MetricFamily Family(std::string_view name, std::string_view help, MetricType type) {
  return {std::string(name), std::string(help), type, {}};
}

// Calls visit(labels, lane) for each lane of each shard.
void ForEachLane(const std::vector<ShardSnapshot>& shards, auto visit) {
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    const auto& lanes = shards[shard].engine.lanes;
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      visit(Labels{{"shard", std::to_string(shard)}, {"lane", std::to_string(lane)}}, lanes[lane]);
    }
  }
}

void AppendLanes(std::vector<MetricFamily>& families, const std::vector<ShardSnapshot>& shards) {
  for (const auto& [name, type, help, get] : kLaneScalars) {
    MetricFamily family = Family(name, help, type);
    ForEachLane(shards, [&, type = type, get = get](Labels labels, const LaneStats& lane) {
      family.metric.push_back(ToMetric(get(lane), type, std::move(labels)));
    });
    families.push_back(std::move(family));
  }
  for (const auto& [name, unit, help, get] : kLaneDistributions) {
    MetricFamily family = Family(name, help, MetricType::Histogram);
    ForEachLane(shards, [&, unit = unit, get = get](Labels labels, const LaneStats& lane) {
      family.metric.push_back(ToMetric(get(lane), unit, std::move(labels)));
    });
    families.push_back(std::move(family));
  }
  MetricFamily policies = Family("stout_policy_info", "The policy of a lane", kGauge);
  ForEachLane(shards, [&](Labels labels, const LaneStats& lane) {
    labels.push_back({"policy", lane.policy});
    policies.metric.push_back(ToMetric(1, kGauge, std::move(labels)));
  });
  families.push_back(std::move(policies));
}

void AppendShards(std::vector<MetricFamily>& families, const std::vector<ShardSnapshot>& shards) {
  for (const auto& [name, type, help, get] : kShardScalars) {
    MetricFamily family = Family(name, help, type);
    for (std::size_t i = 0; i < shards.size(); ++i) {
      family.metric.push_back(ToMetric(get(shards[i]), type, {{"shard", std::to_string(i)}}));
    }
    families.push_back(std::move(family));
  }
  MetricFamily family = Family(kReplyLatency.name, kReplyLatency.help, MetricType::Histogram);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    family.metric.push_back(ToMetric(kReplyLatency.get(shards[i].engine), kReplyLatency.unit,
                                     {{"shard", std::to_string(i)}}));
  }
  families.push_back(std::move(family));
}

void AppendHttp(std::vector<MetricFamily>& families, const HttpSnapshot& http) {
  for (const auto& [name, type, help, get] : kHttpScalars) {
    families.push_back(Family(name, help, type));
    families.back().metric.push_back(ToMetric(get(http), type, {}));
  }
  MetricFamily counts = Family("docstore_requests_total", "Responses given", kCounter);
  MetricFamily latency = Family("docstore_request_seconds", "Request received to response ready",
                                MetricType::Histogram);
  for (const auto& [key, histogram] : http.requests) {
    const Labels labels = {{"method", std::string(MethodName(key.first))},
                           {"status", std::to_string(key.second)}};
    counts.metric.push_back(ToMetric(static_cast<double>(histogram.count()), kCounter, labels));
    latency.metric.push_back(ToMetric(histogram, Unit::kNanoseconds, labels));
  }
  families.push_back(std::move(counts));
  families.push_back(std::move(latency));
}

// --- JSON ---------------------------------------------------------------------------------------

json::object ToObject(const Histogram& histogram, Unit unit) {
  const auto quantile = [&](double q) {
    return static_cast<double>(histogram.Quantile(q)) / Scale(unit);
  };
  return {{"count", histogram.count()}, {"mean", histogram.Mean() / Scale(unit)},
          {"p50", quantile(.5)},        {"p90", quantile(.9)},
          {"p99", quantile(.99)},       {"p999", quantile(.999)},
          {"max", quantile(1)}};
}

// Counts are whole numbers: 12 reads better than 1.2E1.
json::value Number(double value) {
  constexpr double kLargestWhole = 9007199254740992;  // 2^53
  if (value == std::floor(value) && std::abs(value) <= kLargestWhole) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

template <typename Stats, std::size_t N>
json::object ToObject(const Scalar<Stats> (&scalars)[N], const Stats& stats) {
  json::object object;
  for (const auto& scalar : scalars) object[scalar.name] = Number(scalar.get(stats));
  return object;
}

json::object ToObject(const LaneStats& lane) {
  json::object object = ToObject(kLaneScalars, lane);
  object["policy"] = lane.policy;
  for (const auto& distribution : kLaneDistributions) {
    object[distribution.name] = ToObject(distribution.get(lane), distribution.unit);
  }
  return object;
}

json::object ToObject(const ShardSnapshot& shard) {
  json::object object = ToObject(kShardScalars, shard);
  object[kReplyLatency.name] = ToObject(kReplyLatency.get(shard.engine), kReplyLatency.unit);
  json::array lanes;
  for (const LaneStats& lane : shard.engine.lanes) lanes.push_back(ToObject(lane));
  object["lanes"] = std::move(lanes);
  return object;
}

json::object ToObject(const HttpSnapshot& http) {
  json::object object = ToObject(kHttpScalars, http);
  json::array requests;
  for (const auto& [key, histogram] : http.requests) {
    requests.push_back({{"method", MethodName(key.first)},
                        {"status", key.second},
                        {"docstore_requests_total", histogram.count()},
                        {"docstore_request_seconds", ToObject(histogram, Unit::kNanoseconds)}});
  }
  object["requests"] = std::move(requests);
  return object;
}

// A sum of intervals or windows does not.
bool MeansSomethingAsSum(std::string_view name) {
  return name != "stout_interval_seconds" && name != "stout_gap_seconds" &&
         name != "stout_tick_seconds" && name != "stout_window";
}

// The lanes of all shards as one: sums of what counts or holds, merged histograms.
json::object Total(const std::vector<ShardSnapshot>& shards) {
  json::object total;
  for (const auto& scalar : kLaneScalars) {
    if (!MeansSomethingAsSum(scalar.name)) continue;
    double sum = 0;
    ForEachLane(shards, [&](const Labels&, const LaneStats& lane) { sum += scalar.get(lane); });
    total[scalar.name] = Number(sum);
  }
  for (const auto& distribution : kLaneDistributions) {
    Histogram merged;
    ForEachLane(shards, [&](const Labels&, const LaneStats& lane) {
      merged.Merge(distribution.get(lane));
    });
    total[distribution.name] = ToObject(merged, distribution.unit);
  }
  Histogram replies;
  for (const ShardSnapshot& shard : shards) replies.Merge(kReplyLatency.get(shard.engine));
  total[kReplyLatency.name] = ToObject(replies, kReplyLatency.unit);
  for (const auto& scalar : kShardScalars) {
    double sum = 0;
    for (const ShardSnapshot& shard : shards) sum += scalar.get(shard);
    total[scalar.name] = Number(sum);
  }
  return total;
}

}  // namespace

void HttpMetrics::OnResponse(Method method, int status, Duration latency) {
  const std::lock_guard lock(mutex_);
  now_.requests[{method, status}].Record(latency);
}

void HttpMetrics::OnConnect() {
  const std::lock_guard lock(mutex_);
  ++now_.connections;
  ++now_.connections_total;
}

void HttpMetrics::OnDisconnect() {
  const std::lock_guard lock(mutex_);
  --now_.connections;
}

void HttpMetrics::OnRefuse() {
  const std::lock_guard lock(mutex_);
  ++now_.connections_refused;
}

HttpSnapshot HttpMetrics::Snapshot() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

std::string ToPrometheus(const std::vector<ShardSnapshot>& shards, const HttpSnapshot& http) {
  std::vector<MetricFamily> families;
  AppendLanes(families, shards);
  AppendShards(families, shards);
  AppendHttp(families, http);
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return text.str();
}

std::string ToJson(const std::vector<ShardSnapshot>& shards, const HttpSnapshot& http) {
  json::array each;
  for (const ShardSnapshot& shard : shards) each.push_back(ToObject(shard));
  const json::object all = {
      {"total", Total(shards)}, {"shards", std::move(each)}, {"http", ToObject(http)}};
  return json::serialize(all) + '\n';
}

}  // namespace stout::docstore
