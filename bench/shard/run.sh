#!/usr/bin/env bash
# run.sh BIN_DIR [--quick] [OPTION...]: what can keep a shard's records, side by side: ours, zstd in
# small blocks with postings, sdsl-lite, RocksDB, hash maps, Redis. Options are shard-bench's.
#
#   --quick   4 MiB of values instead of 64, results to BIN_DIR/../shard-quick/
#
# Starts a private Redis and stops it again. Tables go to the terminal, all figures to
# bench/results/shard.json. README.md says how it is measured.
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
options=()
for option in "$@"; do
  case $option in
    --quick)
      results=$bin/../shard-quick
      options+=(--size 4MiB --gets 10000 --searches 1000 --hits 100000)
      ;;
    *) options+=("$option") ;;
  esac
done
for program in jq "$bin/shard-bench"; do
  command -v "$program" >/dev/null || { echo "bench shard: no $program" >&2 && exit 1; }
done

# shellcheck source=/dev/null
source "$here/../../sample-apps/demo/databases.sh"

scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-shard.XXXXXX")
database=''
stop() {
  [[ -z $database ]] || kill "$database" 2>/dev/null || true
  [[ -z $database ]] || wait "$database" 2>/dev/null || true
  rm -rf "$scratch"
}
trap stop EXIT

apart start_redis "$scratch/redis"
redis-cli -s "$scratch/redis/socket" config set appendonly no >/dev/null  # memory is measured, not disks
mkdir -p "$results"
"$bin/shard-bench" --scratch "$scratch" --redis "${redis_url#redis://}" --json "$scratch/json" \
  "${options[@]}"
jq --arg commit "$(git -C "$here" describe --always --dirty 2>/dev/null || true)" \
  --arg machine "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" \
  '. + {commit: $commit, machine: $machine}' "$scratch/json" >"$results/shard.json"
echo "bench shard: $(cd "$results" && pwd)/shard.json" >&2
