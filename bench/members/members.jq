# What run.sh measured, and its tables; needs -L of this directory and of ../stores.
include "tables";

# The ratios of a case: what is compared, with what, and the aim (at least).
def compared:
  if .part == "rocksdb" then [["three", "one", .6]]
  elif .case | endswith("pipelined") then [["all", "alone", .3], ["all", "wait", null], ["ack1", "wait", null]]
  else [["all", "wait", .85], ["ack1", "wait", 1], ["all", "alone", null]] end;

# Of lines of run.sh. Each side of a case has as many runs as there were rounds.
def comparisons:
  by_case | map(.runs as $runs
  | . + {sides: ($runs | map_values({rate_per_s: (map(.rate_per_s) | middle),
                                           p50_us: (map(.p50_us) | middle),
                                           p99_us: (map(.p99_us) | middle)})),
         ratios: [compared[] as [$side, $other, $aim]
           | [range($runs[$side] | length) as $i
              | $runs[$side][$i].rate_per_s / $runs[$other][$i].rate_per_s] as $each
           | {$side, $other, $aim, ratio: ($each | middle), from: ($each | min), to: ($each | max)}]});

def side_name: {one: "one RocksDB", three: "three RocksDB, all", all: "node, three Redis, all",
  ack1: "node, three Redis, --ack 1", wait: "Redis, WAIT 2", alone: "Redis alone"}[.];

def member_tables:
  .comparisons[]
  | "\(.case):", "",
    ([["", "SETs/s", "p50 in us", "p99 in us"]]
     + [.sides | to_entries[] | [(.key | side_name), (.value.rate_per_s | grouped),
                                 (.value.p50_us | short), (.value.p99_us | short)]] | markdown), "",
    ([["rate of", "over that of", "times", "of each round", "aim: at least"]]
     + [.ratios[] | [(.side | side_name), (.other | side_name), "**\(.ratio | short)**",
                     "\(.from | short) to \(.to | short)", (.aim | short)]] | markdown), "";
