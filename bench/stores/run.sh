#!/usr/bin/env bash
# run.sh BIN_DIR [OPTION...] [STORE...]: compares plain clients, which send one statement or command
# per change, with libstout on the same store. STORE: postgres, redis, rocksdb; default: all three.
#
#   --quick   about 4 minutes instead of an hour: fewer contenders, shorter searches, one round trip
#
# Starts a private PostgreSQL (fsync and synchronous_commit are on) and a private Redis (appendfsync
# always), whose files are on this machine's disk, and stops them again. Prints tables. Writes all
# figures to bench/results/stores.json, and pictures beside it. With --quick or a STORE, or when it is
# cut short, they go to BIN_DIR/../stores-quick/ instead. README.md describes the method.
set -euo pipefail

# shellcheck source=/dev/null
source "$(dirname "$0")/../arguments.sh"
stores=()
documents=10000,100
plain=(pool:1 pool:4 pool:16 pool:64)
pipelined=(pipelined:1 pipelined:4 pipelined:16)
policies=(unbatched fixed:20ms natural stout adaptive)
far_plain=(pool:64 pipelined:4 pipelined:16)
far_policies=(natural adaptive)
round_trips_us=(0 500 2000 10000)
times=() light=()
for option in "$@"; do
  case $option in
    --quick)
      results=$bin/../stores-quick
      plain=(pool:16 pool:64) pipelined=(pipelined:4) policies=(natural adaptive)
      documents=10000
      far_plain=(pool:64 pipelined:4) far_policies=(natural)
      round_trips_us=(2000)
      times=(--resolution 0.2 --warmup 300ms --measure 500ms --repetitions 1)
      light=(--light-load 5)
      ;;
    -h | --help) usage && exit ;;
    postgres | redis | rocksdb) stores+=("$option") results=$bin/../stores-quick ;;
    *) echo "bench stores: no option '$option'" >&2 && usage >&2 && exit 2 ;;
  esac
done
((${#stores[@]})) || stores=(postgres redis rocksdb)
for program in jq gnuplot "$bin/store-bench" "$bin/tcp-proxy"; do
  command -v "$program" >/dev/null || { echo "bench stores: no $program" >&2 && exit 1; }
done

# shellcheck source=/dev/null
source "$here/../../sample-apps/demo/databases.sh"

scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-stores.XXXXXX")
chmod 755 "$scratch"  # PostgreSQL runs as a user of its own
database='' proxy='' proxy_port=''
stop_proxy() {
  [[ -z $proxy ]] || kill "$proxy" 2>/dev/null || true
  [[ -z $proxy ]] || wait "$proxy" 2>/dev/null || true
  proxy=
}
trap 'stop_proxy; stop_database; rm -rf "$scratch"' EXIT

# start_proxy SERVER ROUND_TRIP_US: sets `proxy` and `proxy_port`.
start_proxy() {
  rm -f "$scratch/proxy-input"
  mkfifo "$scratch/proxy-input"
  : >"$scratch/proxy"
  # The proxy lives as long as its input is open: by itself, too.
  "$bin/tcp-proxy" "$1" "delay=$(($2 / 2))us" <>"$scratch/proxy-input" >"$scratch/proxy" &
  proxy=$!
  await_address "$scratch/proxy" "$proxy" ||
    { echo "bench stores: tcp-proxy does not start" >&2 && return 1; }
  proxy_port=${address##*:}
}

parts=0 status=0
# compare STORE ROUND_TRIP_US URL OPTION...: adds to what is reported; @PORT@ is the proxy's. Ctrl-C
# ends the run with what there is.
compare() {
  ((status == 0)) || return 0
  say "$1, round trip of $2 us"
  local options=(--store "$1=$3" --json "$scratch/json" "${times[@]}" "${@:4}")
  "$bin/store-bench" "${options[@]//@PORT@/$proxy_port}" || status=$?
  ((status == 0 || status == 130)) || exit "$status"
  parts=$((parts + 1))
  jq --argjson us "$2" '.comparisons[].round_trip_ms = $us / 1000' "$scratch/json" \
    >"$scratch/$parts.part"
}

# far STORE SERVER URL OPTION...: the same over round trips, 0 being the proxy's own cost.
far() {
  local us
  for us in "${round_trips_us[@]}"; do
    ((status == 0)) || return 0
    apart start_proxy "$2" "$us"
    compare "${1}_proxy" "$us" "$3" --documents 10000 --light-load 0 \
      --writers "${far_plain[@]}" --policies "${far_policies[@]}" "${@:4}"
    stop_proxy
  done
}

near=("${light[@]}" --documents "$documents" --policies "${policies[@]}" --writers)

bench_postgres() {
  local directory=$scratch/postgres
  apart start_postgres "$directory"
  compare postgres 0 "$postgres_url" "${near[@]}" "${plain[@]}" "${pipelined[@]}"
  far postgres "$directory/.s.PGSQL.5432" "postgres://postgres@127.0.0.1:@PORT@/postgres"
  stop_database
}

bench_redis() {
  apart start_redis "$scratch/redis"
  compare redis 0 "$redis_url" "${near[@]}" "${plain[@]}" "${pipelined[@]}" \
    --variant "mode_plain=$redis_url?mode=plain&prefix=plain:"
  far redis "${redis_url##*:}" "redis://127.0.0.1:@PORT@" \
    --variant "mode_plain=redis://127.0.0.1:@PORT@?mode=plain&prefix=plain:"
  stop_database
}

bench_rocksdb() {
  compare rocksdb 0 "rocksdb:$scratch/rocksdb" "${near[@]}" "${plain[@]}"
}

for store in "${stores[@]}"; do "bench_$store"; done

((status == 0)) || results=$bin/../stores-quick
mkdir -p "$results"
mapfile -t files < <(seq -f "$scratch/%.0f.part" "$parts")  # in the order in which they were made
jq -s --arg commit "$(source_commit)" \
  '.[0] + {commit: $commit, interrupted: any(.[]; .interrupted), comparisons: map(.comparisons[])}' \
  "${files[@]}" >"$results/stores.json"
jq -r -L "$here" 'include "tables"; tables' "$results/stores.json"
((status != 0)) || "$here/draw.sh" "$results/stores.json" "$results"  # half a run is no picture
say "$(cd "$results" && pwd)/stores.json"
exit "$status"
