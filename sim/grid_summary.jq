# The file of `stout-sim grid --json` as one line a point: means and p99 in ms, null where a run was
# unstable. jq -rf sim/grid_summary.jq main.json > bench/results/grid-main.csv

def number: if . == null then "" else (. * 1000 | round / 1000 | tostring) end;
def mean: if .stable then .write_latency_ms.mean else null end;
def p99: if .stable then .write_latency_ms.p99 else null end;
# The mean of one run over that of another; nothing where either was unstable.
def over(run; other): (run | mean) as $mean | (other | if . == null then null else mean end) as $other
  | if $mean == null or $other == null then "" else ($mean / $other | number) end;

["natural", "natural:2", "natural:4", "natural:8", "stout", "adaptive"] as $policies
| (["point", "family", "best interval ms", "best mean", "best p99"]
   + [$policies[] | "\(.) mean", "\(.) p99"] + ["adaptive jain", "regret", "against natural"] | join(",")),
  (.points[] | . as $point | [
    .name, .family, (.best_interval.chosen_ms | number), (.best_interval | mean | number),
    (.best_interval | p99 | number),
    ($policies[] as $policy | $point.policies[$policy]
      | if . == null then "", "" else (mean | number), (p99 | number) end),
    (.policies.adaptive.jain_latency // null | number),
    over(.policies.adaptive; .best_interval),
    over(.policies.adaptive; [.policies[$policies[:4][]] | select(. != null and .stable)]
      | min_by(.write_latency_ms.mean))] | join(","))
