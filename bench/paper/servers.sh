# A service to measure, and its users; sourced by service.sh and types.sh. Users (docstore-load)
# send requests to docstore-router, half of them reads. The router sends them to four
# docstore-server processes, which share a store. Everything runs on this machine.
#
# Each policy starts with new servers and an empty keyspace, and meets all rates one after another.
# The policies take turns in three rounds; the medians count.
#
# The script that sources this one defines two functions. name_store sets `store`, the options of
# docstore-server for keyspace number $keyspaces, and `leases`, the URL of the lease service.
# store_is_whole fails if a part of the store is not in use.
# shellcheck shell=bash disable=SC2154

# shellcheck source=/dev/null
source "$here/../../sample-apps/demo/databases.sh"
# shellcheck source=/dev/null
source "$here/../../tests/integration/redis_cluster.sh"
# shellcheck source=/dev/null
source "$here/../node/servers.sh"

service_servers=4
service_rates=(500 2000 4000 6000 8000)
rounds=3
calm_s=4               # after the documents were written, before the first rate
settle_s=1 measure_s=2 # for each rate
if [[ $quick ]]; then
  service_rates=(500 4000)
  rounds=1 calm_s=1
  measure_s=1
fi

database='' # the process that databases.sh started last
service=()  # processes of the servers and the router
keyspaces=0
stop_service() {
  local pid
  for pid in "${service[@]}"; do
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  service=()
}
stop_databases() {
  stop_redis_cluster
  stop_servers
}
stop_all() {
  stop_service
  stop_databases
  rm -rf "$scratch"
}
trap stop_all EXIT

# start_process NAME PROGRAM [OPTION...]: sets `address` once it listens.
start_process() {
  local output=$scratch/$1
  : >"$output"
  "$bin/$2" --listen 127.0.0.1:0 --log-level error "${@:3}" >"$output" 2>"$output.log" &
  service+=($!)
  await_address "$output" $! ||
    { echo "bench paper: $2 does not start: $(tail -n 5 "$output.log")" >&2 && return 1; }
}

# start_service POLICY: sets `address`, the router's.
start_service() {
  local i leases store
  keyspaces=$((keyspaces + 1))
  name_store
  for ((i = 0; i < service_servers; ++i)); do
    start_process "server-$i" docstore-server "${store[@]}" --threads 1 --policy "$1"
  done
  start_process router docstore-router --leases "$leases" --threads 1 --max-idle 1000
  for _ in {1..400}; do
    curl -s "http://$address/metrics" >"$scratch/metrics" || true
    ! grep -Eq '^docstore_router_owned_ranges 16(\.0*)?$' "$scratch/metrics" ||
      ! store_is_whole || return 0
    sleep 0.05
  done
  echo "bench paper: the servers do not take all ranges, or their store is not whole" >&2
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
    store_is_whole || { echo "bench paper: a part of the store is no longer in use" >&2; return 1; }
    jq -c --arg policy "$policy" '. + {$policy}' "$scratch/load"
    stop_service
  done; done >"$scratch/served"
  jq -s . "$scratch/served" >"$scratch/json"
  keep "$1" served
}
