# What run.sh measured, and its tables; needs -L of this directory and of ../stores.
include "tables";

# The side that the others of a part are compared with.
def base: {throughput: "cluster", latency: "cluster", levels: "ms+sc", replicas: "1", nodes: "1", polyglot: "Redis", scans: "slots"}[.];

# Of lines of `measure`: for each case its sides, with medians and all runs.
def cases:
  . as $all
  | [map({part, case}) | distinct[] as $case
     | ($case.part | base) as $base
     | [$all[] | select({part, case} == $case)] as $runs
     | $case + {$base, sides: [$runs | map(.side) | sort | distinct[] as $side
         | [$runs[] | select(.side == $side)] as $own
         | [$own[] as $run | $run.rate_per_s
            / ($runs[] | select(.side == $base and .round == $run.round) | .rate_per_s)] as $ratios
         | {$side, rate_per_s: ($own | map(.rate_per_s) | middle), ratio: ($ratios | middle), $ratios,
            p99_us: ($own | map(.p99_us) | middle), get_us: ($own | map(.get_us) | middle),
            relaxed_get_us: ($own | map(.relaxed_get_us) | middle),
            set_us: ($own | map(.set_us) | middle), scan_us: ($own | map(.scan_us) | middle),
            cpu_us: ($own | map(.cpu_us) | (map(keys) | add | unique) as $names
              | . as $each | [$names[] as $name | {($name): ($each | map(.[$name]) | middle)}] | add),
            runs: ($own | map(del(.part, .case, .side)))}]}];

def side_name($part):
  if $part == "replicas" then "\(.) replica\(if . == "1" then "" else "s" end)"
  elif $part == "nodes" then "\(.) node\(if . == "1" then "" else "s" end)"
  else {cluster: "Redis Cluster"}[.] // . end;
def time: if . == 0 then "" else short end;

# A row for each case of a part, a column for each side.
def grid($part; $title; cell):
  [.cases[] | select(.part == $part)]
  | if length == 0 then empty else
      "\($title):", "",
      ([[""] + [.[0].sides[].side | side_name($part)]] + [.[] | [.case] + [.sides[] | cell]] | markdown), ""
    end;
def rates($part):
  grid($part; "requests/s, and times \($part | base | side_name($part)) (median of the rounds)";
       "\(.rate_per_s | grouped) (**\(.ratio | short)**)");
def costs($part): grid($part; "processor time for each request in us: all, and that of nodes";
  "\(.cpu_us | add | short) (\(.cpu_us["stout-node"] | short))");
def get_times($part): grid($part; "mean time in us of strong / relaxed gets, and of SETs";
  "\(.get_us | time) / \(.relaxed_get_us | time), \(.set_us | time)");

def scan_times($part): grid($part; "mean time in us of gets, scans and SETs";
  "\(.get_us | time) / \(.scan_us | time), \(.set_us | time)");

# The tables of README.md.
def short_tables:
  ("throughput", "replicas", "levels", "nodes", "polyglot", "scans") as $part
  | select(any(.cases[]; .part == $part))
  | "### \($part)", "", rates($part), costs($part),
    (if $part == "levels" then get_times($part) else empty end),
    (if $part == "scans" then scan_times($part) else empty end);

def mode_tables:
  short_tables,
  (.cases[] | .part as $part
   | "\(.part), \(.case):", "",
     ([["", "requests/s", "times \(.base | side_name($part))", "of each round", "mean GET in us",
        "relaxed GET", "SET", "p99", "CPU us/request", "nodes", "Redis", "clients"]]
      + [.sides[]
         | [(.side | side_name($part)), (.rate_per_s | grouped), "**\(.ratio | short)**",
            (.ratios | "\(min | short) to \(max | short)"), (.get_us | time), (.relaxed_get_us | time),
            (.set_us | time), (.p99_us | short), (.cpu_us | add | short), (.cpu_us["stout-node"] | short),
            (.cpu_us["redis-server"] | short), (.cpu_us.clients | short)]]
      | markdown), "");

# For gnuplot: a block for each workload and side, its title and lines of requests/s and mean latency in
# ms, which in a closed loop is the number of clients / rate.
def latency_points:
  [.cases[] | select(.part == "latency")
   | . as $case | (.case | capture("(?<gets>[0-9]+) % .*, (?<clients>[0-9]+) clients")) as $at
   | .sides[] | $at + {side, rate_per_s}]
  | group_by(.gets | -tonumber)[] | group_by(.side)[]
  | "\"\(.[0].side | side_name("latency"))\"", (sort_by(.clients | tonumber)[]
    | "\(.rate_per_s) \((.clients | tonumber) / .rate_per_s * 1000)"), "", "";
