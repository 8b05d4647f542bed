# Beside uniform reads, a line for each share by hand: the share, then hit rate and rate of the popular
# tenant, then of the other.
.runs | map(select(.store == "rocksdb" and .scenario == "uniform"
                   and (.side == "static" or .side == "default")))
| sort_by(.share)[]
| [.share, (.tenants[] | .hit_rate, .rate_per_s)] | map(tostring) | join(" ")
