#!/usr/bin/env bash
# Runs redis-benchmark, a judge that knows nothing of us, against stout-node over each kind of store.
# Then the node ends and starts again, and what is durable is still there.
#
# Usage: redis_benchmark_test.sh DIRECTORY_OF_PROGRAMS
set -euo pipefail
bin=$1

here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source-path=SCRIPTDIR source=work_directory.sh
source "$here/work_directory.sh"
# shellcheck source=/dev/null
source "$here/../../sample-apps/demo/databases.sh"
# shellcheck source-path=SCRIPTDIR source=redis_cluster.sh
source "$here/redis_cluster.sh"
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# start_node URL: sets `node` and `port`.
start_node() {
  : >"$work/stdout" # it is there before the node
  "$bin/stout-node" --listen 127.0.0.1:0 --store "$1" >>"$work/stdout" 2>"$work/stderr" &
  node=$!
  await_port "$node"
  [[ $port ]] || fail "stout-node --store $1: $(<"$work/stderr")"
}

stop_node() {
  kill -TERM "$node"
  wait "$node" || fail "stout-node over $store ended with $?: $(<"$work/stderr")"
}

cli() { redis-cli -p "$port" -e "$@"; }

chmod 755 "$work" # PostgreSQL runs as a user of its own
start_postgres "$work/postgres"
start_redis "$work/redis"
start_redis_cluster "$work"
start_blowfish "$work/blowfish"
declare -A urls=(
  [memory]=memory: [rocksdb]=rocksdb:$work/rocksdb [postgres]=$postgres_url [redis]=$redis_url/1
  [redis-cluster]=$cluster_url [blowfish]=blowfish://127.0.0.1:$blowfish_port
)
for store in "${!urls[@]}"; do
  start_node "${urls[$store]}"
  for pipeline in 1 16; do
    redis-benchmark -p "$port" -t set,get,incr,mset -n 2000 -c 20 -P "$pipeline" -r 1000 --csv \
      >"$work/benchmark" 2>&1 || fail "$store: $(<"$work/benchmark")"
    ! grep -qi error "$work/benchmark" || fail "$store: $(<"$work/benchmark")"
    for test in SET GET INCR 'MSET (10 keys)'; do
      grep -q "^\"$test\"" "$work/benchmark" || fail "$store: no $test: $(<"$work/benchmark")"
    done
  done
  # Counters start at 0, so their sum is the number of INCR.
  counters=$(seq -f 'counter:%012.0f' 0 999)
  # shellcheck disable=SC2086  # one word each
  sum=$(cli MGET $counters | awk '{ sum += $1 } END { print sum }')
  ((sum == 4000)) || fail "$store: $sum of 4000 increments"
  keys=$(cli DBSIZE)
  ((keys > 1000)) || fail "$store: $keys keys"
  stop_node
  [[ $store != memory ]] || continue
  start_node "${urls[$store]}"
  [[ $(cli DBSIZE) == "$keys" ]] || fail "$store: $(cli DBSIZE) of $keys keys after a start"
  stop_node
done
echo "redis-benchmark is content with stout-node over ${!urls[*]}"
