#!/usr/bin/env bash
# run.sh BIN_DIR [POLICY...]: searches the highest rate of durable writes that docstore on RocksDB
# sustains with 99 % of them answered within 50 ms. It does so for each policy, with little collapsing
# (10,000 documents) and with much (100). It bisects, each trial on a fresh database. Server and load
# generator share this machine. A trial may fail once, because the machine may have been busy with
# other work. Prints a table, and writes the report of the best trial of each to
# bench/results/docstore.json. With a POLICY, or SECONDS_PER_TRIAL in the environment, it goes to
# BIN_DIR/../docstore/ instead.
set -euo pipefail

# shellcheck source=/dev/null
source "$(dirname "$0")/../arguments.sh"
[[ $# == 0 && -z ${SECONDS_PER_TRIAL-} ]] || results=$bin/../docstore
policies=("$@")
((${#policies[@]})) || policies=(unbatched fixed:20ms fixed:160ms natural)
bound=50ms
lowest=500 highest=200000 trials=8
seconds=${SECONDS_PER_TRIAL:-4}

mkdir -p "$results"
scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-bench.XXXXXX")
server=
stop() {
  [[ -z $server ]] || kill "$server" 2>/dev/null || true
  [[ -z $server ]] || wait "$server" 2>/dev/null || true
  server=
}
trap 'stop; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

# trial POLICY DOCUMENTS RATE: whether that is sustained; its report is then $scratch/report.json.
trial() {
  rm -rf "$scratch/db"
  : >"$scratch/out"
  "$bin/docstore-server" --store "rocksdb:$scratch/db" --policy "$1" --listen 127.0.0.1:0 \
    --threads 1 >"$scratch/out" 2>"$scratch/log" &
  server=$!
  local address status=0
  await_address "$scratch/out" "$server" || { cat "$scratch/log" >&2 && stop && exit 1; }
  "$bin/docstore-load" --target "http://$address" --label "$1, $2 documents" --rate "$3" \
    --duration "${seconds}s" --warmup 1s --documents "$2" --read-fraction 0 --connections 16 \
    --pipeline 64 --preload --stats --max-p99 "$bound" --json "$scratch/report.json" \
    >/dev/null 2>"$scratch/errors" || status=$?
  stop
  ((status == 0 || status == 5)) || { cat "$scratch/errors" >&2 && exit "$status"; }
  return $status  # 5: slower than --max-p99
}

# best POLICY DOCUMENTS: bisects on a logarithmic scale; sets found to the rate, keeps the report. It
# runs in this shell, whose traps know the server.
best() {
  local low=$lowest high=$highest rate
  found=0
  for ((i = 0; i < trials; ++i)); do
    rate=$(awk -v l="$low" -v h="$high" 'BEGIN { printf "%d", sqrt(l * h) }')
    if trial "$1" "$2" "$rate" || trial "$1" "$2" "$rate"; then
      low=$rate found=$rate
      cp "$scratch/report.json" "$scratch/best-$2-${1//:/_}.json"
    else
      high=$rate
    fi
    [[ ! -t 2 ]] || printf '\r%-14s %6s documents: %s..%s/s   ' "$1" "$2" "$low" "$high" >&2
  done
  [[ ! -t 2 ]] || printf '\r%60s\r' '' >&2
}

printf '%-14s %22s %22s\n' "writes/s at" "10,000 documents" "100 documents" \
  "p99 <= $bound" "(little collapsing)" "(much collapsing)"
base=()
for policy in "${policies[@]}"; do
  cells=()
  for documents in 10000 100; do
    best "$policy" "$documents"
    column=${#cells[@]}
    [[ -n ${base[$column]-} ]] || base[$column]=$found
    cells+=("$(awk -v r="$found" -v b="${base[$column]}" \
      'BEGIN { if (r == 0) print "none"; else if (b == 0) print r; else printf "%d (%.1fx)", r, r / b }')")
  done
  printf '%-14s %22s %22s\n' "$policy" "${cells[@]}"
done
reports=("$scratch"/best-*.json)
echo
"$bin/docstore-load" report "${reports[@]}" --json "$results/docstore.json"
