# Figures 1 to 4 through all parts of a real service; sourced by run.sh. Users (docstore-load) send
# requests to docstore-router, half of them reads. The router sends them to four docstore-server
# processes. They share a Redis Cluster of three masters, each with a replica, that syncs its log
# before each answer. PostgreSQL has the leases. Everything runs on this machine.
#
# Each policy starts with new servers and an empty keyspace, and meets all rates one after another.
# The policies take turns in three rounds; the medians count.
# shellcheck shell=bash disable=SC2154

# shellcheck source=/dev/null
source "$here/../../sample-apps/demo/databases.sh"
# shellcheck source=/dev/null
source "$here/../../tests/integration/redis_cluster.sh"

service_servers=4
service_rates=(500 2000 4000 6000 8000)
rounds=3
calm_s=4               # after the documents were written, before the first rate
settle_s=1 measure_s=2 # for each rate
service_step_s=(10 15) # before and after the step
service_rate=4000
if [[ $quick ]]; then
  service_rates=(500 4000)
  rounds=1 calm_s=1
  measure_s=1
  service_step_s=(2 3)
fi

database=''
service=() # processes of the servers and the router
keyspaces=0
stop_service() {
  local pid
  for pid in "${service[@]}"; do
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  service=()
}
stop_all() {
  stop_service
  stop_redis_cluster
  [[ -z $database ]] || kill "$database" 2>/dev/null || true
  [[ -z $database ]] || wait "$database" 2>/dev/null || true
  rm -rf "$scratch"
}
trap stop_all EXIT

# start_process NAME PROGRAM [OPTION...]: sets `address` once it listens.
start_process() {
  local output=$scratch/$1
  : >"$output"
  "$bin/$2" --listen 127.0.0.1:0 --log-level error "${@:3}" >"$output" 2>"$output.log" &
  service+=($!)
  for _ in {1..400}; do
    address=$(sed -n 's/^listening on //p' "$output")
    [[ -z $address ]] || return 0
    kill -0 $! 2>/dev/null || break
    sleep 0.05
  done
  echo "bench paper: $2 does not start: $(tail -n 5 "$output.log")" >&2
  return 1
}

# start_service POLICY: sets `address`, the router's.
start_service() {
  local i leases store
  keyspaces=$((keyspaces + 1))
  store="$cluster_url?prefix=$keyspaces:"
  leases="$postgres_url&lease_table=leases_$keyspaces&poll=50ms"
  for ((i = 0; i < service_servers; ++i)); do
    start_process "server-$i" docstore-server --store "$store" --leases "$leases" --threads 1 \
      --policy "$1"
  done
  start_process router docstore-router --leases "$leases" --threads 1 --max-idle 1000
  for _ in {1..400}; do
    curl -s "http://$address/metrics" >"$scratch/metrics" || true
    ! grep -Eq '^docstore_router_owned_ranges 16(\.0*)?$' "$scratch/metrics" || return 0
    sleep 0.05
  done
  echo "bench paper: the servers do not take their leases" >&2
  return 1
}

# load DOCUMENTS STEPS LAST: users for the steps, of which the last ends after LAST seconds in all.
load() {
  # HTTP answers in order: on 1,000 connections hardly any read waits for a write.
  "$bin/docstore-load" --target "http://$address" --documents "$1" --preload --read-fraction 0.5 \
    --steps "$2" --duration "$3s" --connections 1000 --pipeline 4 --timeout 5s \
    --json "$scratch/load" >/dev/null 2>"$scratch/load.log" ||
    { cat "$scratch/load.log" >&2 && return 1; }
}

# serve_rates RUNS DOCUMENTS POLICY...
serve_rates() {
  local policy rate round at=$calm_s steps=("0s:${service_rates[0]}")
  for rate in "${service_rates[@]}"; do
    steps+=("${at}s:$rate" "$((at + settle_s))s:$rate")
    at=$((at + settle_s + measure_s))
  done
  for ((round = 1; round <= rounds; ++round)); do for policy in "${@:3}"; do
    say "service: $1, round $round, $policy"
    start_service "$policy"
    load "$2" "$(IFS=, && echo "${steps[*]}")" "$at"
    jq -c --arg policy "$policy" '. + {$policy}' "$scratch/load"
    stop_service
  done; done >"$scratch/served"
  jq -s . "$scratch/served" >"$scratch/json"
  keep "$1" served
}

# serve_step RUNS RATE POLICY...: from service_rate requests a second to another rate.
serve_step() {
  local policy
  for policy in "${@:3}"; do
    say "service: $1, $policy"
    start_service "$policy"
    load 10000 "0s:$service_rate,${service_step_s[0]}s:$2" \
      $((service_step_s[0] + service_step_s[1]))
    jq -c --arg policy "$policy" '. + {$policy}' "$scratch/load"
    stop_service
  done >"$scratch/json"
  keep "$1" "served_step(${service_step_s[0]})"
}

draw_served() {
  local few="unbatched tick:20ms tick:160ms ${laws[*]}" steps="tick:40ms tick:160ms ${laws[*]}"
  local axes="xlabel='requests per second, half of them writes'; logx=1; xmax='10000'"
  figure load 1-fixed-intervals-service "Adaptive against fixed intervals, docstore" "$axes" \
    "Redis Cluster|service|tick:20ms tick:160ms ${laws[*]}"
  figure load 2-batching-service "Batching and no batching, docstore" "$axes" \
    "Redis Cluster|service|unbatched tick:20ms natural adaptive"
  figure load 3-collapsing-service "Low and high collapsing, docstore" "$axes" \
    "10,000 documents|service|$few" "100 documents|service-100-documents|$few"
  figure steps 4-load-steps-service "Steps of the load, docstore" \
    "before_s=${service_step_s[0]}; after_s=${service_step_s[1]}; latency_only=1" \
    "4,000 to 2,667 requests/s|service-decrease|$steps" \
    "4,000 to 6,000 requests/s|service-increase|$steps"
}

say "starting PostgreSQL and a Redis Cluster"
start_postgres "$scratch/postgres"
start_redis_cluster "$scratch/cluster"
serve_rates service 10000 unbatched tick:20ms tick:160ms "${laws[@]}"
serve_rates service-100-documents 100 unbatched tick:20ms tick:160ms "${laws[@]}"
serve_step service-decrease 2667 tick:40ms tick:160ms "${laws[@]}"
serve_step service-increase 6000 tick:40ms tick:160ms "${laws[@]}"
draw_served
