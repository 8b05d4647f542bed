#!/usr/bin/env bash
# run.sh BIN_DIR [--quick | --full] [options of policy-bench]: compares batching policies. 1, 4 and
# 16 application servers share one store, from light load to overload. There are two stores. RocksDB
# on this machine's disk syncs fast and commits groups by itself. A queue before one server, 2 ms a
# batch and 20 us a write, models stores that sell operations per second. A run takes about 20
# minutes, with --quick about 2, with --full some hours. `policy-bench --help` lists further
# options. A further --store URL adds to the two. Prints tables. Writes all figures to
# bench/results/policies.json, and pictures beside it. With options other than --full or
# --documents 10000,100, or if the run does not end well, all goes to BIN_DIR/../policies/ instead.
set -euo pipefail

# shellcheck source=/dev/null
source "$(dirname "$0")/../arguments.sh"
case $* in
  '' | --full | '--documents 10000,100') ;;
  *) results=$bin/../policies ;;
esac
scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

status=0
"$bin/policy-bench" --store "rocksdb:$scratch/db" "queue=memory:?latency=2ms&per_item=20us" \
  --json "$scratch/policies.json" --plot-data "$scratch/plot" "$@" || status=$?
((status == 0)) || results=$bin/../policies  # what is not whole takes no place of what is
mkdir -p "$results"
[[ ! -e $scratch/policies.json ]] || cp "$scratch/policies.json" "$results/"
for data in "$scratch"/plot/*.dat; do
  [[ -e $data ]] || continue
  name=$(basename "$data" .dat)
  IFS=- read -r store servers documents <<<"$name"
  gnuplot -e "data='$data'; out='$results/policies-$name.svg'" \
    -e "caption='$store, $servers application servers, $documents documents'" "$here/latency.gp"
done
exit "$status"
