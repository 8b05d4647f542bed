#!/usr/bin/env bash
# waiting-searches.sh BIN_DIR [SECONDS]: 16 clients, each of which waits for its answer, search a
# blowfish-server that starts without layers. Prints the searches per second after 30 s and after 1 s.
# shellcheck disable=SC2154
set -euo pipefail
# shellcheck source=/dev/null
source "$(dirname "$0")/lib/measure.sh"
# shellcheck source=/dev/null
source "$root/bench/blowfish.sh"
seconds=${2:-30}
size=$((16 << 20))

start_blowfish "$scratch/blowfish" --shards 1 --attributes "$attributes" --memory-budget 128MiB \
  --freeze-bytes 1 --merge-bytes 1
"$bin/shard-data" --size "$size" --format keyed --out - 2>"$scratch/errors" |
  "$bin/blowfish-load" --to "127.0.0.1:$blowfish_port" --drop-key --quiet -
seconds_until 600 compressed "$blowfish_port" >"$scratch/ready"

search_for() { # TIME: sets `rate`
  "$bin/shard-load" --to "127.0.0.1:$blowfish_port" --size "$size" --closed "$1" --connections 16 \
    --depth 1 --operations search --class mix8 --csv /dev/null --json "$scratch/summary" 2>&1 |
    tail -n 3 >"$scratch/errors"
  rate=$(jq '.answered_per_s | round' "$scratch/summary")
}
search_for 1s
report "16 clients that wait, searches in the first second" "$rate" /s
search_for "${seconds}s"
search_for 2s
report "16 clients that wait, searches after $seconds s" "$rate" /s
