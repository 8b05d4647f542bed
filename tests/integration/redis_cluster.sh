# shellcheck shell=bash
# To be sourced: a private Redis Cluster on the loopback, three masters with a replica each, which
# answers for what is on its disks.

declare -A cluster=() # The process of each port.

# start_redis_cluster DIRECTORY [OPTION...]: makes a new one there, with these options of redis-server;
# sets `cluster` and `cluster_url`, a store's URL without options. Fails with the reason on standard error.
start_redis_cluster() {
  local first port nodes
  cluster_directory=$1 cluster_options=("${@:2}")
  for _ in {1..20}; do
    # The nodes talk to each other 10000 higher: below the ports that the system gives to anybody.
    first=$((12000 + SRANDOM % 10000)) nodes=()
    for ((port = first; port < first + 6; ++port)); do
      start_cluster_node "$port" || break
      nodes+=("127.0.0.1:$port")
    done
    ((${#nodes[@]} < 6)) || break
    stop_redis_cluster
  done
  ((${#nodes[@]} == 6)) && redis-cli --cluster-replicas 1 --cluster-yes --cluster create \
    "${nodes[@]}" >"$1/create" || { cat "$1/create" >&2 && return 1; }
  for port in "${!cluster[@]}"; do
    await_answer "$port" "CLUSTER INFO" cluster_state:ok || return 1
  done
  await_replicas || return 1
  cluster_url=redis-cluster://$(IFS=, && echo "${nodes[*]}")
}

start_cluster_node() { # PORT
  mkdir -p "$cluster_directory/$1"
  redis-server --bind 127.0.0.1 --port "$1" --dir "$cluster_directory/$1" --save "" \
    --appendonly yes --appendfsync always --cluster-enabled yes --cluster-node-timeout 2000 \
    --cluster-require-full-coverage no --cluster-allow-replica-migration no \
    --repl-diskless-sync-delay 0 --repl-ping-replica-period 1 "${cluster_options[@]}" \
    >>"$cluster_directory/$1/log" 2>&1 &
  cluster[$1]=$!
  await_answer "$1" PING PONG
}

await_answer() { # PORT COMMAND PATTERN
  for _ in {1..600}; do
    # shellcheck disable=SC2086  # a command is several words
    [[ ! $(redis-cli -p "$1" $2 2>/dev/null) =~ $3 ]] || return 0
    kill -0 "${cluster[$1]}" 2>/dev/null || break
    sleep 0.05
  done
  echo "redis-server does not answer to $2: $(tail -n 5 "$cluster_directory/$1/log")" >&2
  return 1
}

# The ports of those that are masters now.
cluster_masters() {
  local port
  for port in "${!cluster[@]}"; do
    [[ $(redis-cli -p "$port" ROLE 2>/dev/null) != master* ]] || echo "$port"
  done
}

await_replicas() {
  local port masters
  masters=$(cluster_masters)
  for port in $masters; do
    await_answer "$port" "INFO replication" "state=online" || return 1
  done
}

# kill -9 of a master; once its replica has taken over it is started again, and becomes a replica.
fail_over_redis_cluster() {
  local masters port
  mapfile -t masters < <(cluster_masters)
  port=${masters[RANDOM % ${#masters[@]}]}
  kill -KILL "${cluster[$port]}"
  wait "${cluster[$port]}" 2>/dev/null || true
  for _ in {1..600}; do
    mapfile -t masters < <(cluster_masters)
    ((${#masters[@]} < 3)) || break
    sleep 0.05
  done
  ((${#masters[@]} == 3)) || { echo "no replica took over" >&2 && return 1; }
  start_cluster_node "$port" && await_replicas
}

stop_redis_cluster() {
  local pid
  for pid in "${cluster[@]}"; do
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  cluster=()
}
