# The table of a run: hit rates in percent, rates in reads per second, p99 in microseconds.
def percent: . * 1000 | round / 10 | tostring;
def cells: "| " + join(" | ") + " |";
def alone($scenario): if $scenario == "move" then "move-alone" else "alone" end;

.runs as $runs
| def hit($scenario; $side): first($runs[] | select(.scenario == $scenario and .side == $side)
    | .tenants[0].hit_rate);
(["beside", "who may fill the cache", "popular hits, %", "of alone", "reads/s", "p99, us",
  "other hits, %", "reads/s", "admitted"] | cells),
"|---|---|--:|--:|--:|--:|--:|--:|--:|",
($runs[]
 | (if .side == "records" then "records" else "default" end) as $against
 | .tenants[0] as $first | (.tenants[1] // null) as $other
 | [.scenario, (if .side == "static" then "static, \(.share)" else .side end),
    ($first.hit_rate | percent),
    (if .scenario | endswith("alone") then "" else
      $first.hit_rate / hit(alone(.scenario); $against) * 1000 | round / 1000 | tostring end),
    ($first.rate_per_s | tostring), ($first.p99_us | round | tostring)]
   + (if $other then [($other.hit_rate | percent), ($other.rate_per_s | tostring),
                      ($other.share * 10000 | round / 10000 | tostring)] else ["", "", ""] end)
 | cells)
