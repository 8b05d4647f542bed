# Hit rates of the popular tenant, a line for each scenario: default, the best static share,
# S3-FIFO, adaptive, records. Of equal trials it has the median.
.runs as $runs
| ["uniform", "skewed", "scans", "loop", "move"][] as $scenario
| [$runs[] | select(.store == "rocksdb" and .scenario == $scenario)] as $of
| $of[0].yield_pause as $default_pause
| def median: sort[(length - 1) / 2 | floor];
def rate($side): [$of[] | select(.side == $side and .yield_pause == $default_pause)]
  | group_by(.share) | map(map(.tenants[0].hit_rate) | median) | max;
[$scenario, rate("default"), rate("static"), rate("s3-fifo"), rate("adaptive"), rate("records")]
| map(tostring) | join(" ")
