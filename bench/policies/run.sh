#!/usr/bin/env bash
# run.sh BIN_DIR [--quick | --full] [options of policy-bench]: batching policies side by side, with 1,
# 4 and 16 application servers that share one store, from light load to overload. The stores: RocksDB
# on this machine's disk, which syncs fast and commits groups by itself; and a queue before one
# server, 2 ms a batch and 20 us a write, as stores are that sell operations per second. It takes some
# 20 minutes, with --quick some 2, with --full some hours; `policy-bench --help` says what else there
# is, and a further --store URL adds to the two. Tables go to the terminal, all figures to
# bench/results/policies.json, pictures beside it.
set -euo pipefail

bin=$1
shift
here=$(dirname "$0")
results=$here/../results
mkdir -p "$results"
scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

status=0
"$bin/policy-bench" --store "rocksdb:$scratch/db" "queue=memory:?latency=2ms&per_item=20us" \
  --json "$results/policies.json" --plot-data "$scratch/plot" "$@" || status=$?

for data in "$scratch"/plot/*.dat; do
  [[ -e $data ]] || continue
  name=$(basename "$data" .dat)
  IFS=- read -r store servers documents <<<"$name"
  gnuplot -e "data='$data'; out='$results/policies-$name.svg'" \
    -e "caption='$store, $servers application servers, $documents documents'" "$here/latency.gp"
done
exit "$status"
