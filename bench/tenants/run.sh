#!/usr/bin/env bash
# run.sh BIN_DIR [--quick]: a popular tenant beside others, over one cache of RocksDB.
#
#   --quick  a small database and short trials: shows that all works; files go to BIN_DIR/../tenants/
#
# Writes 2 GB to a directory that it removes at the end. Prints a table. Writes all figures to
# bench/results/tenants.json, the table to tenants.txt, and a plot to tenants.svg. README.md
# describes the method.
set -euo pipefail

usage() { sed -n '2,8s/^# \{0,1\}//p' "$0"; }

if (($# == 0)) || [[ $1 == -* ]]; then
  usage >&2
  exit 2
fi
bin=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
results=$here/../results
store=() trial=(--clients 40 --together 200000)
while (($#)); do
  case $1 in
    --quick)
      results=$bin/../tenants
      store=(--records 20000 --cache-bytes 8MiB) trial=(--warm 20000 --together 10000)
      ;;
    -h | --help) usage && exit ;;
    *) usage >&2 && echo "bench tenants: no option '$1'" >&2 && exit 2 ;;
  esac
  shift
done
for program in jq gnuplot "$bin/tenant-bench"; do
  command -v "$program" >/dev/null || { echo "bench tenants: no $program" >&2 && exit 1; }
done

scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-tenants.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
say() { printf 'bench tenants, %d:%02d: %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$1" >&2; }

say 'writing the records'
"$bin/tenant-bench" --rocksdb "$scratch/db" "${store[@]}" --fill
# measure SCENARIO SIDE OPTION...
measure() {
  say "$1, $2"
  "$bin/tenant-bench" --rocksdb "$scratch/db" "${store[@]}" "${trial[@]}" --scenario "$1" \
    --side "${@:2}" >>"$scratch/runs"
}
for scenario in alone move-alone other-alone; do
  for side in default adaptive records; do measure "$scenario" "$side"; done
done
for scenario in uniform skewed scans loop move popular; do
  for side in default adaptive records; do measure "$scenario" "$side"; done
  for share in 0.1 0.01; do measure "$scenario" static --share "$share"; done
done

mkdir -p "$results"
machine=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
commit=$(git -C "$here" describe --always --dirty 2>/dev/null || true)
jq -s --arg commit "$commit" --arg machine "$machine" --argjson cpus "$(nproc)" \
  '{format: "stout tenant bench 1", $commit, $machine, $cpus, when: (now | todate), runs: .}' \
  "$scratch/runs" >"$results/tenants.json"
jq -rf "$here/table.jq" "$results/tenants.json" | tee "$results/tenants.txt"
jq -rf "$here/bars.jq" "$results/tenants.json" >"$scratch/bars"
gnuplot -e "data='$scratch/bars'; out='$results/tenants.svg'" "$here/tenants.gp"
say "$(cd "$results" && pwd)/tenants.json"
