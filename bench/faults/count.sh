#!/usr/bin/env bash
# count.sh BIN_DIR [HITS]: prints the median time of five SEARCH ... COUNT of blowfish-server, each
# with HITS hits (4,000,000).
# shellcheck disable=SC2154
set -euo pipefail
# shellcheck source=/dev/null
source "$(dirname "$0")/lib/measure.sh"
# shellcheck source=/dev/null
source "$root/bench/blowfish.sh"
hits=${2:-4000000}

start_blowfish "$scratch/blowfish" --shards 1 --attributes kind,rest --memory-budget 4GB \
  --freeze-bytes 1MB --merge-bytes 1MB
seq "$hits" | sed 's/$/|all|x/' |
  "$bin/blowfish-load" --to "127.0.0.1:$blowfish_port" --drop-key --quiet -
# The count is measured on compressed records, so it waits for the merges.
is_compressed() { (($(info_total "$blowfish_port" shards compressed_records) * 10 > hits * 9)); }
seconds_until 600 is_compressed >"$scratch/ready"

times=()
for _ in {1..5}; do
  start=$(now)
  counted=$(redis-cli -p "$blowfish_port" SEARCH kind all COUNT)
  times+=("$(since "$start")")
  [[ $counted == "$hits" ]] || { echo "count: $counted of $hits" >&2 && exit 1; }
done
report "SEARCH COUNT with $hits hits" "$(median "${times[@]}")" s
