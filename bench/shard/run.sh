#!/usr/bin/env bash
# run.sh BIN_DIR [OPTION...]: what can keep a shard's records, side by side: ours, zstd in small blocks
# with postings, sdsl-lite, RocksDB, hash maps, Redis; and what our server does when its load changes,
# as figures 9 and 12 of the BlowFish paper (NSDI'16) have it.
#
#   --static-only   the comparison alone
#   --server-only   the server alone, some 12 minutes
#   --quick         less of everything, some 2 minutes in all; to BIN_DIR/../shard-quick/
#
# Other options are shard-bench's, and imply --static-only. Starts a private Redis and private
# blowfish-servers, and stops them again. Tables go to the terminal, all figures of the comparison to
# bench/results/shard.json, those of the server to bench/results/shard/, and pictures to docs/results/.
# README.md says how it is measured.
set -euo pipefail

usage() { sed -n '2,14s/^# \{0,1\}//p' "$0"; }

if (($# == 0)) || [[ $1 == -* ]]; then
  usage >&2
  exit 2
fi
bin=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
results=$here/../results
pictures=$here/../../docs/results
quick='' static=1 server=1
options=()
while (($#)); do
  case $1 in
    --static-only) server='' ;;
    --server-only) static='' ;;
    --quick) quick=1 ;;
    -h | --help) usage && exit ;;
    *) options+=("$1") ;;
  esac
  shift
done
if ((${#options[@]})); then
  [[ $static ]] || { echo "bench shard: no option '${options[0]}' with --server-only" >&2 && exit 2; }
  server=''
fi
programs=(jq redis-cli)
[[ ! $static ]] || programs+=("$bin/shard-bench")
[[ ! $server ]] || programs+=(gnuplot "$bin"/{shard-data,shard-load,blowfish-load,blowfish-server})
for program in "${programs[@]}"; do
  command -v "$program" >/dev/null || { echo "bench shard: no $program" >&2 && exit 1; }
done
if [[ $quick ]]; then
  results=$bin/../shard-quick
  pictures=$results
fi
mkdir -p "$results/shard" "$pictures"

# shellcheck source=/dev/null
source "$here/../../sample-apps/demo/databases.sh"

scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-shard.XXXXXX")
database=''
# stop_database: if there is one.
stop_database() {
  [[ -z $database ]] || kill "$database" 2>/dev/null || true
  [[ -z $database ]] || wait "$database" 2>/dev/null || true
  database=''
}
trap 'stop_database; rm -rf "$scratch"' EXIT
trap 'echo "bench shard: interrupted" >&2; exit 130' INT TERM

say() { printf 'bench shard, %d:%02d: %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$1" >&2; }
commit=$(git -C "$here" describe --always --dirty 2>/dev/null || true)
machine=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)

compare() {
  [[ ! $quick ]] || options=(--size 4MiB --gets 10000 --searches 1000 --hits 100000 "${options[@]}")
  apart start_redis "$scratch/redis"
  redis-cli -s "$scratch/redis/socket" config set appendonly no >/dev/null  # memory is measured, not disks
  "$bin/shard-bench" --scratch "$scratch" --redis "${redis_url#redis://}" --json "$scratch/json" \
    "${options[@]}"
  jq --arg commit "$commit" --arg machine "$machine" '. + {commit: $commit, machine: $machine}' \
    "$scratch/json" >"$results/shard.json"
  stop_database
  say "$(cd "$results" && pwd)/shard.json"
}

[[ ! $static ]] || compare
if [[ $server ]]; then
  # shellcheck source=/dev/null
  source "$here/server.sh"
fi
