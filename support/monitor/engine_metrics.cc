#include "monitor/engine_metrics.h"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace stout::monitor {
namespace {

namespace json = boost::json;
using http::Distribution;
using http::Family;
using http::Get;
using http::kCounter;
using http::kGauge;
using http::kNanosPerSecond;
using http::Labels;
using http::MetricFamily;
using http::MetricType;
using http::Number;
using http::Scalar;
using http::ToMetric;
using http::ToObject;
using http::Unit;

// --- The figures, in one table per owner: name, help, how to read it ----------------------------

constexpr Scalar<LaneStats> kLaneScalars[] = {
    {"stout_keys_marked_total", kCounter, "Changes that were taken", Get<&LaneStats::keys_marked>},
    {"stout_marks_pushed_back_total", kCounter, "Changes refused because of a limit",
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
    {"stout_batches_failed_total", kCounter, "Write batches that failed as a whole",
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
    {"stout_tick_seconds", kGauge, "Period of the timer at whose ticks the policy sends",
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
    {"stout_lost", kGauge, "1 if the store may lack acknowledged writes",
     [](const ShardSnapshot& shard) { return shard.engine.lost ? 1.0 : 0.0; }},
    {"stout_cached_bytes", kGauge, "Memory of the cached keys and values, dirty and clean",
     [](const ShardSnapshot& shard) { return static_cast<double>(shard.cached_bytes); }},
    {"stout_lent_bytes", kGauge, "Memory of values that answers hold after the cache dropped them",
     [](const ShardSnapshot& shard) { return static_cast<double>(shard.lent_bytes); }},
};

constexpr Distribution<LaneStats> kLaneDistributions[] = {
    {"stout_batch_items", Unit::kItems, "Writes in a batch",
     [](const LaneStats& lane) -> const Histogram& { return lane.batch_items; }},
    {"stout_store_latency_seconds", Unit::kNanoseconds,
     "Time from sending a batch to its answer, per attempt",
     [](const LaneStats& lane) -> const Histogram& { return lane.store_latency; }},
    {"stout_wait_seconds", Unit::kNanoseconds,
     "Time from the first unsent change of a key to its sending",
     [](const LaneStats& lane) -> const Histogram& { return lane.wait; }},
};

constexpr Distribution<EngineStats> kReplyLatency = {
    "stout_reply_latency_seconds", Unit::kNanoseconds,
    "Time from SafeReply to the run of the reply",
    [](const EngineStats& engine) -> const Histogram& { return engine.reply_latency; }};

constexpr const char* kDecisions = "stout_policy_decisions_total";

// Calls visit(name, decisions) for each reason that the policy gave.
void ForEachReason(const LaneStats& lane, auto visit) {
  for (std::size_t i = 0; i < kReasons; ++i) {
    const auto reason = static_cast<Reason>(i);
    const std::uint64_t decisions = lane.decisions_by_reason[i];
    if (reason != Reason::kNone && decisions > 0) visit(NameOf(reason), decisions);
  }
}

// --- Prometheus ---------------------------------------------------------------------------------

Labels LabelsOf(const ShardSnapshot& shard) {
  Labels labels{{"shard", std::to_string(shard.shard)}};
  if (!shard.member.empty()) labels.push_back({"member", shard.member});
  if (!shard.table.empty()) labels.push_back({"table", shard.table});
  return labels;
}

Labels With(Labels labels, const char* name, std::string_view value) {
  labels.push_back({name, std::string(value)});
  return labels;
}

// Calls visit(labels, lane) for each lane of each shard.
void ForEachLane(const std::vector<ShardSnapshot>& shards, auto visit) {
  for (const ShardSnapshot& shard : shards) {
    const auto& lanes = shard.engine.lanes;
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      visit(With(LabelsOf(shard), "lane", std::to_string(lane)), lanes[lane]);
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
  ForEachLane(shards, [&](const Labels& labels, const LaneStats& lane) {
    policies.metric.push_back(ToMetric(1, kGauge, With(labels, "policy", lane.policy)));
  });
  families.push_back(std::move(policies));

  MetricFamily regimes = Family("stout_policy_regime", "How the policy batches at present", kGauge);
  MetricFamily decisions =
      Family(kDecisions, "Decisions of the policy, by the reason that it gives", kCounter);
  ForEachLane(shards, [&](const Labels& labels, const LaneStats& lane) {
    if (lane.regime != Regime::kNone) {
      regimes.metric.push_back(ToMetric(1, kGauge, With(labels, "regime", NameOf(lane.regime))));
    }
    ForEachReason(lane, [&](std::string_view reason, std::uint64_t count) {
      decisions.metric.push_back(
          ToMetric(static_cast<double>(count), kCounter, With(labels, "reason", reason)));
    });
  });
  families.push_back(std::move(regimes));
  families.push_back(std::move(decisions));
}

void AppendShards(std::vector<MetricFamily>& families, const std::vector<ShardSnapshot>& shards) {
  for (const auto& [name, type, help, get] : kShardScalars) {
    MetricFamily family = Family(name, help, type);
    for (const ShardSnapshot& shard : shards) {
      family.metric.push_back(ToMetric(get(shard), type, LabelsOf(shard)));
    }
    families.push_back(std::move(family));
  }
  MetricFamily family = Family(kReplyLatency.name, kReplyLatency.help, MetricType::Histogram);
  for (const ShardSnapshot& shard : shards) {
    family.metric.push_back(
        ToMetric(kReplyLatency.get(shard.engine), kReplyLatency.unit, LabelsOf(shard)));
  }
  families.push_back(std::move(family));
}

// --- JSON ---------------------------------------------------------------------------------------

json::object ToObject(const LaneStats& lane) {
  json::object object = ToObject(kLaneScalars, lane);
  object["policy"] = lane.policy;
  if (lane.regime != Regime::kNone) object["policy_regime"] = NameOf(lane.regime);
  if (lane.reason != Reason::kNone) object["policy_reason"] = NameOf(lane.reason);
  json::object decisions;
  ForEachReason(lane,
                [&](std::string_view reason, std::uint64_t count) { decisions[reason] = count; });
  object[kDecisions] = std::move(decisions);
  for (const auto& distribution : kLaneDistributions) {
    object[distribution.name] = ToObject(distribution.get(lane), distribution.unit);
  }
  return object;
}

json::object ToObject(const ShardSnapshot& shard) {
  json::object object = ToObject(kShardScalars, shard);
  object["shard"] = shard.shard;
  if (!shard.member.empty()) object["member"] = shard.member;
  if (!shard.table.empty()) object["table"] = shard.table;
  object[kReplyLatency.name] = ToObject(kReplyLatency.get(shard.engine), kReplyLatency.unit);
  json::array lanes;
  for (const LaneStats& lane : shard.engine.lanes) lanes.push_back(ToObject(lane));
  object["lanes"] = std::move(lanes);
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

void AppendEngines(std::vector<MetricFamily>& families, const std::vector<ShardSnapshot>& shards) {
  AppendLanes(families, shards);
  AppendShards(families, shards);
}

json::object ToObject(const std::vector<ShardSnapshot>& shards) {
  json::array each;
  for (const ShardSnapshot& shard : shards) each.push_back(ToObject(shard));
  return {{"total", Total(shards)}, {"shards", std::move(each)}};
}

}  // namespace stout::monitor
