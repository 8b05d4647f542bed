# The table of a run: hit rates in percent, rates in reads per second, p99 in microseconds. Of equal
# trials it has the one with the median rate of the popular tenant.
def percent: . * 1000 | round / 10 | tostring;
def cells: "| " + join(" | ") + " |";
def alone: if .scenario == "move" then "move-alone" else "alone" end;
def name:
  if .side == "static" then "static, \(.share)"
  elif .side == "records" and .yield_pause == 0 then "records, no pause"
  else .side end;
# What a run is compared with: the cache without a law.
def plain: if .side == "s3-fifo" then .side
  elif .side == "records" or .side == "map" then "map"
  else "default" end;
def over($before): . / $before * 100 | round / 100 | tostring;

def trial: [.store, .scenario, .side, .share, .yield_pause];
def median: sort_by(.tenants[0].rate_per_s)[(length - 1) / 2 | floor];

# Equal trials are one row, at the place of the first.
[.runs as $all | $all | to_entries[] | .key as $at | (.value | trial) as $trial
 | select(all($all[:$at][]; trial != $trial))
 | [$all[] | select(trial == $trial)] | median] as $runs
| def before: . as $run
    | first($runs[] | select(.store == $run.store and .scenario == ($run | alone)
                             and .side == ($run | plain)) | .tenants[0]);
(["store", "beside", "who may fill the cache", "popular hits, %", "of alone", "reads/s", "of alone",
  "p99, us", "other hits, %", "reads/s", "admitted"] | cells),
"|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|",
($runs[]
 | (.scenario | endswith("alone") | not) as $beside
 | before as $before | .tenants[0] as $first | (.tenants[1] // null) as $other
 | [.store, .scenario, name, ($first.hit_rate | percent),
    (if $beside then $first.hit_rate | over($before.hit_rate) else "" end),
    ($first.rate_per_s | round | tostring),
    (if $beside then $first.rate_per_s | over($before.rate_per_s) else "" end),
    ($first.p99_us | round | tostring)]
   + (if $other then [($other.hit_rate | percent), ($other.rate_per_s | round | tostring),
                      ($other.share * 10000 | round / 10000 | tostring)] else ["", "", ""] end)
 | cells)
