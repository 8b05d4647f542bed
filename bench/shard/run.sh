#!/usr/bin/env bash
# run.sh BIN_DIR [OPTION...]: compares systems that can keep a shard's records: ours, zstd in small
# blocks with postings, sdsl-lite, RocksDB, hash maps, Redis. It also measures the cost of layers while
# they come and go, our server while its load changes, and our server beside redis-server. It makes
# figures 6, 8, 9, 11 and 12 of the BlowFish paper (NSDI'16).
#
#   --static-only   only the comparison, with 64, 16 and 190 MiB, and the layers
#   --server-only   only the server, about 15 minutes
#   --redis-only    only our server beside redis-server, about 3 minutes
#   --growth-only   only a load of 10 GB into two shards, about half an hour; no other option has it
#   --tight-only    only a server whose files are twice its memory, 18 minutes, as root; no other
#                   option has it
#   --kinds-only    only seven kinds of values beside line items, about 15 minutes; no other option
#                   has it
#   --memory-only   only a load of 1 GiB with a budget of 400 MB, 5 minutes; no other option has it
#   --quick         less of everything, about 3 minutes in all; to BIN_DIR/../shard-quick/
#
# Other options are shard-bench's, and imply only the comparison, with 64 MiB. Starts a private Redis
# and private blowfish-servers, and stops them again. Prints tables, and writes all figures to
# bench/results/shard/, and pictures to docs/results/. README.md describes the method.
set -euo pipefail

# shellcheck source=/dev/null
source "$(dirname "$0")/../arguments.sh"
pictures=$here/../../docs/results
quick='' static=1 server=1 changing=1 only=''
options=()
while (($#)); do
  case $1 in
    --static-only) server='' ;;
    --server-only) static='' ;;
    --redis-only) static='' changing='' ;;
    --growth-only | --memory-only | --tight-only | --kinds-only) static='' only=${1#--} ;;
    --quick) quick=1 ;;
    -h | --help) usage && exit ;;
    *) options+=("$1") ;;
  esac
  shift
done
if ((${#options[@]})); then
  [[ $static ]] || { echo "bench shard: no option '${options[0]}' with an option that ends with -only" >&2 && exit 2; }
  server=''
fi
programs=(jq redis-cli)
[[ ! $static ]] || programs+=(gnuplot "$bin"/{shard-bench,shard-layers})
[[ ! $server ]] ||
  programs+=(gnuplot redis-benchmark "$bin"/{shard-bench,shard-data,shard-load,blowfish-load,blowfish-server})
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
trap 'stop_database; rm -rf "$scratch"' EXIT
trap 'echo "bench shard: interrupted" >&2; exit 130' INT TERM

commit=$(source_commit)
machine=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)

# compare NAME [OPTION...]: shard-bench; its figures go to NAME.json.
compare() {
  say "comparing: ${*:2}"
  apart start_redis "$scratch/redis"
  redis-cli -s "$scratch/redis/socket" config set appendonly no >/dev/null  # memory is measured, not disks
  "$bin/shard-bench" --scratch "$scratch" --redis "${redis_url#redis://}" --json "$scratch/json" "${@:2}"
  jq --arg commit "$commit" --arg machine "$machine" '. + {commit: $commit, machine: $machine}' \
    "$scratch/json" >"$results/shard/$1.json"
  stop_database
  rm -rf "$scratch/redis"
}

# curve NAME: figures 6 and 11, of what compare found.
curve() {
  jq -r '
    def rate($workload; $peer): first(.workloads[] | select(.name == $workload) | .peers[]
      | select(.name == $peer) | .best_per_cpu_s) // null;
    def family: if startswith("blowfish") then 1 elif startswith("bytes") then 2 else 0 end;
    . as $all | [.peers[] | {family: (.name | family), name, ratio}] | group_by(.family)[]
    | (sort_by(.ratio)[] | . as {family: $family, name: $name, ratio: $ratio} | $all
      | [$family, $name, $ratio, rate("get"; $name), rate("search mix8"; $name),
         rate("50/50 mix8"; $name)] | map(. // "null") | @tsv), "", ""
    ' "$results/shard/$1.json" >"$scratch/curve"
  gnuplot -e "out='$pictures/shard-curve.svg'; data='$scratch/curve'; \
    caption='BlowFish figures 6 and 11: storage and throughput, one thread'" "$here/curve.gp"
}

# skew NAME: figure 8, computed from the same.
skew() {
  local panel
  jq -L "$here" 'include "skew"; skew' "$results/shard/$1.json" >"$results/shard/skew.json"
  for panel in needed carried; do
    jq -r --arg panel "$panel" \
      '.[$panel][] | [.load // .bytes, .blowfish, .replicas, .zstd, .hash] | map(. // "null") | @tsv' \
      "$results/shard/skew.json" >"$scratch/$panel"
  done
  jq -r '.loads | to_entries[] | "\(.key + 1) \(.value)"' "$results/shard/skew.json" >"$scratch/loads"
  gnuplot -e "out='$pictures/shard-skew.svg'; loads='$scratch/loads'; needed='$scratch/needed'; carried='$scratch/carried'" \
    "$here/skew.gp"
}

layers() {
  say "layers"
  "$bin/shard-layers" --size "$1" --scratch "$scratch" --json "$scratch/json"
  jq --arg commit "$commit" --arg machine "$machine" '. + {commit: $commit, machine: $machine}' \
    "$scratch/json" >"$results/shard/layers.json"
}

less=(--gets 10000 --searches 1000 --hits 100000)
[[ " ${options[*]}" != *" --kind"* ]] || less=(--gets 10000)  # values that are not searched
if [[ $static && ${#options[@]} -gt 0 ]]; then
  compare other ${quick:+"${less[@]}"} "${options[@]}"
elif [[ $static && $quick ]]; then
  compare static --size 4MiB "${less[@]}"
  curve static
  skew static
  layers 4MiB
elif [[ $static ]]; then
  compare static --size 64MiB
  curve static
  skew static
  compare static-16 --size 16MiB
  # Only peers that are built and answer quickly.
  compare static-190 --size 190MiB --classes mix8 \
    --peers blowfish:0:1 blowfish:2:1 blowfish:4:1 bytes:0:2 zstd hash
  layers 64MiB
fi
if [[ $server ]]; then
  # shellcheck source=/dev/null
  source "$here/server.sh"
  # shellcheck source=/dev/null
  source "$here/redis.sh"
  # shellcheck source=/dev/null
  source "$here/growth.sh"
  # shellcheck source=/dev/null
  source "$here/kinds.sh"
  # shellcheck source=/dev/null
  source "$here/tight.sh"
  case $only in
    growth-only) growth growth "$growth_bytes" "$growth_budget" ;;
    memory-only) growth memory "$memory_bytes" "$memory_budget" ;;
    kinds-only) kinds ;;
    tight-only)
      trap 'stop_database; close_group; rm -rf "$scratch"' EXIT
      tight
      ;;
    *)
      if [[ $changing ]]; then
        : >"$scratch/runs"
        changing_load
        sharing
        jq -s . "$scratch/runs" >"$results/shard/runs.json"
      fi
      beside_redis
      ;;
  esac
fi
say "$(cd "$pictures" && pwd)/shard-*.svg; figures in $(cd "$results/shard" && pwd)"
