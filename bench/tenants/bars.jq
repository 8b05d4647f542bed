# Hit rates of the popular tenant, a line for each scenario: default, the best static share,
# S3-FIFO, adaptive, records.
.runs as $runs
| ["uniform", "skewed", "scans", "loop", "move"][] as $scenario
| [$runs[] | select(.store == "rocksdb" and .scenario == $scenario)] as $of
| def best($side): [$of[] | select(.side == $side) | .tenants[0].hit_rate] | max;
[$scenario, best("default"), best("static"), best("s3-fifo"), best("adaptive"), best("records")]
| map(tostring) | join(" ")
