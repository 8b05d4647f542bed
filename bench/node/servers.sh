# shellcheck shell=bash disable=SC2154
# To be sourced by run.sh: the servers of a part, and the values in them.

processes=()  # in the order of their starts
stop_servers() {
  local i pid
  [[ -z $database || " ${processes[*]} " == *" $database "* ]] || processes+=("$database")
  for ((i = ${#processes[@]} - 1; i >= 0; --i)); do
    pid=${processes[i]}
    kill "$pid" 2>/dev/null || true
    kill -CONT "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  processes=() database=''
}

# start FUNCTION ARGUMENT...: without our Ctrl-C. If it is cut short, `database` alone is known.
start() {
  apart "$@"
  processes+=("$database")
}

# start_node STORE [OPTION...]: sets `node_port`.
start_node() {
  local output=$scratch/node
  : >"$output"
  "$bin/stout-node" --listen 127.0.0.1:0 --log-level warning --store "$@" \
    >"$output" 2>"$output.log" &
  database=$!
  await_database grep -q '^listening on' "$output" ||
    { echo "bench $bench: stout-node does not start: $(tail -n 3 "$output.log")" >&2 && return 1; }
  node_port=$(sed -n 's/^listening on .*://p' "$output")
}

# start_nutcracker REDIS_PORT...: with default options; sets `nutcracker_port`.
start_nutcracker() {
  local directory=$scratch/nutcracker
  mkdir -p "$directory"
  for _ in {1..50}; do
    nutcracker_port=$((16384 + SRANDOM % 16000))
    cat >"$directory/conf" <<YAML
alpha:
  listen: 127.0.0.1:$nutcracker_port
  hash: fnv1a_64
  distribution: ketama
  redis: true
  servers:
$(printf '   - 127.0.0.1:%s:1\n' "$@")
YAML
    nutcracker --conf-file="$directory/conf" --output="$directory/log" --pid-file="$directory/pid" \
      --stats-addr=127.0.0.1 --stats-port=$((16384 + SRANDOM % 16000)) >"$directory/out" 2>&1 &
    database=$!
    await_database redis-cli -p "$nutcracker_port" GET key >/dev/null 2>&1 && return
  done
  echo "bench $bench: nutcracker does not start: $(tail -n 3 "$directory/out" "$directory/log")" >&2
  return 1
}

# fill PORT PREFIX COUNT VALUE: keys as redis-benchmark names them: PREFIX:000000000042.
fill() {
  awk -v prefix="$2" -v count="$3" -v value="$4" \
    'BEGIN { for (i = 0; i < count; ++i) printf "SET %s:%012d %s\r\n", prefix, i, value }' |
    redis-cli -p "$1" --pipe >"$scratch/fill" 2>&1 || true
  grep -q "^errors: 0, replies: $3$" "$scratch/fill" ||
    { echo "bench $bench: cannot fill port $1: $(tail -n 3 "$scratch/fill")" >&2 && return 1; }
}

sql() { # COMMAND...: each in a transaction of its own
  "$postgres_programs/psql" -h "$scratch/postgres" -U postgres -qX -v ON_ERROR_STOP=1 \
    "${@/#/--command=}" postgres
}

# open_postgres FUNCTION: a PostgreSQL with a node. FUNCTION fills both, then both start again.
open_postgres() {
  start start_postgres "$scratch/postgres"
  start start_node "$postgres_url"
  "$1"
  sql "VACUUM ANALYZE"
  stop_servers
  start start_postgres "$scratch/postgres"
  start start_node "$postgres_url"
}
