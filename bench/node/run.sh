#!/usr/bin/env bash
# run.sh BIN_DIR [--quick] [--ycsb PROGRAM] [PART...]: compares stout-node with other ways to its
# stores. In each part, the sides take turns. PART, by default the first four:
#
#   memory    requests/s over memory:, beside nutcracker (twemproxy) before Redis, and Redis alone
#   redis     latency that the node and nutcracker add before the same Redis
#   postgres  SETs/s over PostgreSQL, beside pgbench's prepared upserts
#   hot       INCRs/s of 100 keys over PostgreSQL, beside pgbench's prepared updates
#   ycsb      YCSB's workloads a, b, c and f over PostgreSQL, beside go-ycsb's own driver for it
#
#   --quick         one round instead of five: shows that all works
#   --ycsb PROGRAM  a go-ycsb, which is not fetched; adds the part ycsb
#
# Starts private servers and stops them again. Prints tables. Writes all figures to
# bench/results/node.json and the tables to node.txt beside it. With --quick or a PART they go to
# BIN_DIR/../node/ instead. README.md describes the method.
set -euo pipefail

# shellcheck source=/dev/null
source "$(dirname "$0")/../arguments.sh"
fail() { echo "bench node: $*" >&2 && exit 2; }
rounds=5 seconds=1 ycsb='' parts=()
while (($#)); do
  case $1 in
    --quick) rounds=1 results=$bin/../node ;;
    --ycsb) ycsb=$(command -v "${2-}") || fail "--ycsb needs the path of a go-ycsb"; shift ;;
    -h | --help) usage && exit ;;
    memory | redis | postgres | hot | ycsb) parts+=("$1") results=$bin/../node ;;
    *) usage >&2 && fail "no option '$1'" ;;
  esac
  shift
done
if ((${#parts[@]} == 0)); then
  parts=(memory redis postgres hot)
  [[ -z $ycsb ]] || parts+=(ycsb)
fi
[[ " ${parts[*]} " != *" ycsb "* || $ycsb ]] || fail "part ycsb needs --ycsb PROGRAM"
for program in jq nutcracker redis-benchmark redis-cli "$bin/stout-node"; do
  command -v "$program" >/dev/null || fail "no $program"
done
readonly keys=100000 hot=100 clients=64
value=$(printf '%0100d' 0 | tr 0 x)

# shellcheck source=/dev/null
source "$here/../../sample-apps/demo/databases.sh"
scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-node-bench.XXXXXX")
chmod 755 "$scratch"  # PostgreSQL runs as a user of its own
database=''
# shellcheck source=/dev/null
source "$here/servers.sh"
# shellcheck source=/dev/null
source "$here/../rounds.sh"
trap 'stop_servers; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

# keep PART CASE SIDE VALUE: without a value, fails with the errors of the program.
keep() {
  if [[ ! $4 ]]; then
    echo "bench node: $2 by $3 failed: $(tail -n 3 "$scratch/errors")" >&2
    return 1
  fi
  ((round == 0)) ||
    printf '{"part":"%s","case":"%s","side":"%s","value":%s}\n' "$@" >>"$scratch/runs"
}

declare -A requests=()  # that take `seconds`, as the first round has shown
# count RATE: after a measurement of `id`.
count() { requests[$id]=$(jq -n "$1 * $seconds + 1 | floor"); }

# offer PART CASE SIDE PORT CLIENTS PIPELINE TEST KEYS: keeps the requests per second.
offer() {
  local id="$*" rate
  rate=$({ redis-benchmark -p "$4" -c "$5" -P "$6" -t "$7" -r "$8" -n "${requests[$id]-50000}" \
    -d "${#value}" --csv |
    awk -F'"' -v test="${7^^}" '/Error/ { print >"/dev/stderr"; exit 1 }
      $2 == test { print $4 }'; } 2>"$scratch/errors") || rate=''
  keep "$1" "$2" "$3" "$rate"
  count "$rate"
}

pipelines=(1 16)
case_of() { # TEST PIPELINE
  echo "${1^^}$( (($2 == 1)) || echo ", $2 pipelined")"
}

# memory:

memory_side() { # SIDE
  offer memory "$(case_of "$test" "$pipeline")" "$1" "${ports[$1]}" 16 "$pipeline" "$test" "$keys"
}

measure_memory() {
  local test pipeline
  local -A ports
  start start_redis "$scratch/redis" --appendonly no
  ports[redis]=${redis_url##*:}
  start start_nutcracker "${ports[redis]}"
  start start_node memory:
  ports+=([nutcracker]=$nutcracker_port [node]=$node_port)
  fill "${ports[redis]}" key "$keys" "$value"
  fill "${ports[node]}" key "$keys" "$value"
  for ((round = 0; round <= rounds; ++round)); do
    for test in get set; do for pipeline in "${pipelines[@]}"; do
      in_turns memory_side -- node nutcracker redis
    done; done
  done
}

# redis:

# The node has a Redis database of its own, because it stores a stamp with each value.
measure_redis() {
  local test side p50
  start start_redis "$scratch/behind" --appendonly no
  local direct=${redis_url##*:}
  start start_nutcracker "$direct"
  start start_node "$redis_url/1" --cache-bytes 1MiB
  fill "$direct" key "$keys" "$value"
  fill "$node_port" key "$keys" "$value"
  for ((round = 0; round <= rounds; ++round)); do for test in get set; do
    "$here/latency.py" "$seconds" "$keys" "${#value}" "$test" direct="$direct" \
      nutcracker="$nutcracker_port" node="$node_port" >"$scratch/p50" 2>"$scratch/errors" || true
    for side in direct nutcracker node; do
      p50=$(jq ".$side" "$scratch/p50")
      keep redis "${test^^}" "$side" "$p50"
    done
  done; done
}

# PostgreSQL:

fill_upserts() {
  sql "CREATE TABLE plain (key bigint PRIMARY KEY, value bytea NOT NULL)" \
    "INSERT INTO plain SELECT key, '$value' FROM generate_series(0, $keys - 1) key"
  fill "$node_port" key "$keys" "$value"
}

fill_counters() {
  sql "CREATE TABLE counters (key bigint PRIMARY KEY, n bigint NOT NULL)" \
    "INSERT INTO counters SELECT key, 0 FROM generate_series(0, $hot - 1) key"
  fill "$node_port" counter "$hot" 0
}

# pgbench_side PART TEST SCRIPT: the same figure for all pipelines of the node.
pgbench_side() {
  local rate pipeline
  rate=$("$postgres_programs/pgbench" -h "$scratch/postgres" -U postgres -n -M prepared \
    -f "$here/$3.sql" -D keys="$keys" -D hot="$hot" -D value="$value" -c "$clients" -j "$(nproc)" \
    -T "$seconds" postgres 2>"$scratch/errors" | sed -n 's/^tps = \([0-9.]*\) .*/\1/p') || rate=''
  for pipeline in "${pipelines[@]}"; do
    keep "$1" "$(case_of "$2" "$pipeline")" pgbench "$rate"
  done
}

# sql_side PART TEST SCRIPT KEYS SIDE: SIDE is pgbench, or the pipeline of the node.
sql_side() {
  sql CHECKPOINT
  case $5 in
    pgbench) pgbench_side "$@" ;;
    *) offer "$1" "$(case_of "$2" "$5")" node "$node_port" "$clients" "$5" "$2" "$4" ;;
  esac
}

measure_postgres() {
  open_postgres fill_upserts
  for ((round = 0; round <= rounds; ++round)); do
    in_turns sql_side postgres set upsert "$keys" -- "${pipelines[@]}" pgbench
  done
}

measure_hot() {
  open_postgres fill_counters
  for ((round = 0; round <= rounds; ++round)); do
    in_turns sql_side hot incr increment "$hot" -- "${pipelines[@]}" pgbench
  done
}

# YCSB:

# A record is one string in the node, and a row of ten columns in PostgreSQL.
ycsb() { # ACTION SIDE OPTION...
  local driver=(redis -p redis.addr="127.0.0.1:$node_port" -p redis.datatype=string)
  # It has no option for the directory of a socket, but puts the mode into its URL as it is.
  [[ $2 == node ]] || driver=(pg -p pg.user=postgres -p pg.db=postgres -p pg.host=
    -p pg.sslmode="disable&host=$scratch/postgres")
  "$ycsb" "$1" "${driver[@]}" -p threadcount="$clients" -p recordcount="$records" "${@:3}" \
    >"$scratch/ycsb" 2>&1 || true
  cp "$scratch/ycsb" "$scratch/errors"
  ! grep _ERROR "$scratch/ycsb" >&2
}

fill_records() {
  ycsb load node -p recordcount=$((records + 1))  # go-ycsb's zipfian asks for one more
  ycsb load sql -p recordcount=$((records + 1))
}

ycsb_side() { # SIDE
  local id="ycsb $workload $1" rate
  sql CHECKPOINT
  ycsb run "$1" "${mix[@]}" -p operationcount="${requests[$id]-20000}"
  rate=$(sed -n 's/^TOTAL .* OPS: \([0-9.]*\),.*/\1/p' "$scratch/ycsb" | tail -n 1)
  keep ycsb "workload $workload" "$1" "$rate"
  count "$rate"
}

measure_ycsb() {
  local records=$((keys / 10)) workload mix share
  open_postgres fill_records
  for ((round = 0; round <= rounds; ++round)); do
    for workload in a:.5:update b:.95:update c:1:update f:.5:readmodifywrite; do
      IFS=: read -r workload share mix <<<"$workload"
      mix=(-p requestdistribution=zipfian -p readproportion="$share" -p updateproportion=0
        -p "${mix}proportion=$(jq -n "1 - $share")")
      in_turns ycsb_side -- node sql
    done
  done
}

: >"$scratch/runs"
for part in "${parts[@]}"; do
  say "$part"
  "measure_$part"
  stop_servers
done
mkdir -p "$results"
machine=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
commit=$(source_commit)
tables=(-L "$here" -L "$here/../stores")
jq -s "${tables[@]}" --arg commit "$commit" --arg machine "$machine" --argjson cpus "$(nproc)" \
  --argjson seconds "$seconds" 'include "node"; {format: "stout node bench 1", $commit, $machine,
    $cpus, when: (now | todate), $seconds, comparisons: comparisons}' \
  "$scratch/runs" >"$results/node.json"
jq -r "${tables[@]}" 'include "node"; node_tables' "$results/node.json" | tee "$results/node.txt"
say "$(cd "$results" && pwd)/node.json"
