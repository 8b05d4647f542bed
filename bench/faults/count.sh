#!/usr/bin/env bash
# count.sh BIN_DIR [HITS]: prints the median time of five SEARCH ... COUNT of blowfish-server, each
# with HITS hits (4,000,000).
set -euo pipefail
# shellcheck source=/dev/null
source "$(dirname "$0")/lib/measure.sh"
hits=${2:-4000000}

start_blowfish "$scratch/blowfish" --shards 1 --attributes kind,rest --memory-budget 4GB \
  --freeze-bytes 1MB --merge-bytes 1MB
seq "$hits" | sed 's/$/|all|x/' |
  "$bin/blowfish-load" --to "127.0.0.1:$blowfish_port" --drop-key --quiet -
# The count is measured on compressed records, so it waits for the merges.
redis() { redis-cli -p "$blowfish_port" "$@"; }
figure() { redis INFO shards | tr ':,\r' '\n' | awk -F= -v f="$1" '$1 == f { n += $2 } END { print n }'; }
is_compressed() { (($(figure compressed_records) * 10 > hits * 9)); }
seconds_until 600 is_compressed >"$scratch/ready"

times=()
for _ in {1..5}; do
  start=$(now)
  counted=$(redis SEARCH kind all COUNT)
  times+=("$(since "$start")")
  [[ $counted == "$hits" ]] || { echo "count: $counted of $hits" >&2 && exit 1; }
done
report "SEARCH COUNT with $hits hits" "$(median "${times[@]}")" s
