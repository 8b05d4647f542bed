# Markdown tables of bench/results/stores.json, and what other benchmarks need too; `include "tables"`
# with -L.

# Three digits: more would be noise.
def short:
  if . == null then "" elif . == 0 then "0"
  else pow(10; 2 - (fabs | log10 | floor)) as $scale
    | if $scale < 1 then (. * $scale | round) / $scale else (. * $scale | round) / $scale end
    | tostring
  end;
# 12345 -> 12,345
def grouped:
  round | tostring
  | until(test("^[0-9]{4,}($|,)") | not; sub("(?<a>^[0-9]+)(?<b>[0-9]{3})(?<c>$|,)"; "\(.a),\(.b)\(.c)"));
def rate: if . == null then "none" else grouped end;

def middle: sort | .[length / 2 | floor];
def distinct: reduce .[] as $x ([]; if index([$x]) then . else . + [$x] end);

# Of lines with part, case and side: each case, in the order of their first lines, with its `runs` by side.
def by_case:
  . as $all
  | [map({part, case}) | distinct[] as $case
     | $case + {runs: (reduce ($all[] | select({part, case} == $case)) as $run ({}; .[$run.side] += [$run]))}];

def padded($width; $left): (" " * ($width - length) // "") as $space
  | if $left then . + $space else $space + . end;
# An array of rows, the first of them the head; the first column is text.
def markdown:
  . as $rows
  | ($rows[0] | length) as $columns
  | [range($columns) | . as $c | [$rows[][$c] | length] | max] as $widths
  | def line: [to_entries[] | .key as $c | .value | padded($widths[$c]; $c == 0)]
      | "| " + join(" | ") + " |";
    ($rows[0] | line),
    ("|" + ([$widths | to_entries[] | if .key == 0 then "-" * (.value + 2) else "-" * (.value + 1) + ":" end] | join("|")) + "|"),
    ($rows[1:][] | line);

def title: {postgres: "PostgreSQL", redis: "Redis", rocksdb: "RocksDB"}[.] // .;
def best: .best_plain as $name | .contenders[] | select(.name == $name);
def name($best): if .name == $best then "**\(.name)**" else .name end;

# One store, so many documents.
def near:
  (if .best_plain then best.sustained.rate_per_s else null end) as $rate
  | .best_plain as $best
  | "#### \(.store | title), \(.documents | grouped) documents", "",
    ([["", "changes/s", "times", "p50", "p99", "writes/batch",
       "p50 at \($rate | rate)/s", "p99", "mean at 1/s", "p50"]]
     + [.contenders[] | [name($best), (.sustained.rate_per_s | rate),
         (if .sustained and $rate then (.sustained.rate_per_s / $rate | short) else "" end),
         (.sustained.latency_ms.p50 | short), (.sustained.latency_ms.p99 | short),
         (.sustained.batch_items | short),
         (.compared.latency_ms.p50 | short), (.compared.latency_ms.p99 | short),
         (.light.mean_ms | short), (.light.p50_ms | short)]]
     | markdown), "";

# One store behind the proxy, a column for each round trip.
def far:
  (map(.round_trip_ms)) as $trips
  | . as $all
  | "#### \(.[0].store | sub("_proxy"; "") | title), \(.[0].documents | grouped) documents, by the round trip to the store", "",
    ([[""] + ($trips | map("changes/s at \(.) ms", "p50", "p99"))]
     + [$all[0].contenders[].name as $name
        | [$name] + [$all[] | .contenders[] | select(.name == $name)
                     | (.sustained.rate_per_s | rate), (.sustained.latency_ms.p50 | short),
                       (.sustained.latency_ms.p99 | short)]]
     + [["libstout / plain"] + [$all[]
        | ([.contenders[] | select(.plain | not) | .sustained.rate_per_s // 0] | max) as $stout
        | ((best | .sustained.rate_per_s) // null) as $plain
        | (if $plain then "\($stout / $plain | short)x" else "" end), "", ""]]
     | markdown), "";

def tables:
  (.comparisons[] | select(.store | endswith("_proxy") | not) | near),
  ([.comparisons[] | select(.store | endswith("_proxy"))] | group_by(.store)[] | far);
