# What run.sh measured, and its tables; needs -L of this directory and of ../stores.
include "tables";

# At least, but at most of `redis`.
def aim:
  (.case | endswith("pipelined")) as $pipelined
  | if .part == "memory" then 1.3 elif .part == "redis" then 1.5 elif .part == "ycsb" then null
    elif .part == "postgres" then (if $pipelined then 6 else 2 end)
    else (if $pipelined then null else 10 end) end;

# From runs, or from one figure of each side.
def ratio:
  if .direct then (.node - .direct) / (.nutcracker - .direct)
  else .node / (.nutcracker // .pgbench // .sql) end;

# Of lines of run.sh. Each side of a case has as many runs as there were rounds.
def comparisons:
  by_case | map((.runs | map_values(map(.value))) as $runs
  | ($runs | map_values(middle)) as $medians
  | [range($runs.node | length) as $i | $runs | map_values(.[$i]) | ratio] as $ratios
  | . + {$runs, $medians, aim: aim, ratio: ($medians | ratio),
         ratio_from: ($ratios | min), ratio_to: ($ratios | max)});

def ratios:
  ["**\(.ratio | short)**", "\(.ratio_from | short) to \(.ratio_to | short)", (.aim | short)];

# $others are names of sides and their titles.
def rates($title; $others):
  [[$title, "node"] + [$others[]] + ["times", "of each round", "aim: at least"]]
  + map([.case, (.medians | (.node, .[$others | keys_unsorted[]]) | grouped)] + ratios)
  | markdown;

def latencies:
  def us: . * 10 | round / 10 | tostring;
  [["median latency in us, 1 client, over Redis", "direct", "nutcracker", "node",
    "node adds, times nutcracker", "of each round", "aim: at most"]]
  + map([.case, (.medians | (.direct, .nutcracker, .node) | us)] + ratios)
  | markdown;

def node_tables:
  .comparisons | group_by(.part) as $parts
  | ("memory", "redis", "postgres", "hot", "ycsb") as $part | $parts[] | select(.[0].part == $part)
  | (if $part == "memory" then rates("requests/s over memory:, 16 clients";
                                        {nutcracker: "nutcracker", redis: "Redis alone"})
     elif $part == "redis" then latencies
     elif $part == "ycsb" then rates("YCSB operations/s, 64 clients"; {sql: "go-ycsb's driver"})
     else rates({postgres: "SETs/s, 64 clients", hot: "INCRs/s of 100 keys, 64 clients"}[$part];
                {pgbench: "pgbench"}) end), "";
