#include "stout/sim/result_json.h"

#include "fields.h"

namespace stout::sim {

namespace json = boost::json;
using internal::kAny;

template <typename Visitor, internal::SameAs<LatencySummary> Latency>
void Describe(Visitor& visit, Latency& latency) {
  visit("mean", latency.mean, kAny, "mean");
  visit("p50", latency.p50, kAny, "median");
  visit("p90", latency.p90, kAny, "90th percentile");
  visit("p99", latency.p99, kAny, "99th percentile");
  visit("max", latency.max, kAny, "largest");
}

template <typename Visitor, internal::SameAs<Slice> S>
void Describe(Visitor& visit, S& slice) {
  visit("at_s", slice.at_s, kAny, "when the slice begins");
  visit("offered_per_s", slice.offered_per_s, kAny, "changes made in the slice");
  visit("completed_per_s", slice.completed_per_s, kAny, "changes that became durable");
  visit("write_mean_ms", slice.write_mean_ms, kAny, "mean write latency");
  visit("write_p99_ms", slice.write_p99_ms, kAny, "99th percentile of the write latency");
  visit("batch_items", slice.batch_items, kAny, "mean items of a batch");
  visit("batches_per_s", slice.batches_per_s, kAny, "batches sent");
  visit("interval_ms", slice.interval_ms, kAny, "mean time between two sends of a client");
  visit("regime", slice.regime, kAny,
        "how the policies batched: the most frequent regime of the batches sent, or \"none\"");
  visit("reason", slice.reason, kAny, "the most frequent reason for this regime, or \"none\"");
}

template <typename Visitor, internal::SameAs<Result> R>
void Describe(Visitor& visit, R& result) {
  visit("scenario", result.scenario, kAny, "name of the scenario");
  visit("policy", result.policy, kAny, "the policy that ran");
  visit("seed", result.seed, kAny, "seed of the run");
  visit("measured_s", result.measured_s, kAny, "simulated time after the warm-up");
  visit("write_latency_ms", result.write_latency_ms, kAny, "from a change to its durability");
  visit("reply_latency_ms", result.reply_latency_ms, kAny,
        "from a request to its reply, reads included");
  visit("offered_per_s", result.offered_per_s, kAny, "changes made");
  visit("completed_per_s", result.completed_per_s, kAny, "changes that became durable");
  visit("written_per_s", result.written_per_s, kAny,
        "items at the store: several changes of a key may be one write");
  visit("batch_items", result.batch_items, kAny, "mean items of a batch");
  visit("batches_per_s", result.batches_per_s, kAny, "batches sent by all clients");
  visit("interval_ms", result.interval_ms, kAny, "mean time between two sends of a client");
  visit("store_latency_ms", result.store_latency_ms, kAny, "mean time from send to answer");
  visit("store_utilisation", result.store_utilisation, kAny, "busy share of the store's servers");
  visit("retries", result.retries, kAny, "items that had to be sent again");
  visit("drops", result.drops, kAny,
        "batches, or parts of a batch, that a full queue or a lack of tokens refused");
  visit("refused", result.refused, kAny,
        "changes that an engine pushed back: too much was pending");
  visit("expired", result.expired, kAny, "changes whose reply reached its deadline");
  visit("pending", result.pending, kAny, "changes that were not durable at the end");
  visit("jain_throughput", result.jain_throughput, kAny,
        "Jain's index of the share of its changes that each client completed (closed loop: changes "
        "per second); over the clients present at the end, each over its own time; 1: all equal");
  visit("jain_latency", result.jain_latency, kAny, "the same for the mean write latency");
  visit("jain_batches", result.jain_batches, kAny, "the same for the batches sent");
  visit("stable", result.stable, kAny,
        "the store kept up: the offered changes were completed, and latency did not grow");
  visit("digest", internal::Hex{result.digest}, kAny,
        "hash of every event; two runs of one scenario and seed have the same digest");
  visit("timeline", result.timeline, kAny, "the run, slice by slice, warm-up included");
}

json::object ResultToJson(const Result& result) { return internal::WriteFields(result); }

Parsed<Result> ResultFromJson(const json::value& value) try {
  Result result;
  internal::ReadKnownFields(value, result);
  return result;
} catch (const internal::FieldError& error) {
  return TextError{error.what()};
}

json::object ResultSchema() {
  json::value schema = internal::SchemaOf(Result{});
  internal::DropKeys(schema, {"default", "additionalProperties"});
  return std::move(schema).as_object();
}

}  // namespace stout::sim
