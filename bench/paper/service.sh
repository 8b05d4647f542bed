# Figures 1 to 4 through all parts of a real service (servers.sh); sourced by run.sh. The servers
# share a Redis Cluster of three masters, each with a replica, that syncs its log before each
# answer. PostgreSQL has the leases.
# shellcheck shell=bash disable=SC2034,SC2154

# shellcheck source=/dev/null
source "$here/servers.sh"

service_step_s=(10 15) # before and after the step
service_rate=4000
[[ ! $quick ]] || service_step_s=(2 3)

name_store() {
  leases="$postgres_url&lease_table=leases_$keyspaces&poll=50ms"
  store=(--store "$cluster_url?prefix=$keyspaces:" --leases "$leases")
}
store_is_whole() { :; }

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
start start_postgres "$scratch/postgres"
start_redis_cluster "$scratch/cluster"
serve_rates service 10000 unbatched tick:20ms tick:160ms "${laws[@]}"
serve_rates service-100-documents 100 unbatched tick:20ms tick:160ms "${laws[@]}"
serve_step service-decrease 2667 tick:40ms tick:160ms "${laws[@]}"
serve_step service-increase 6000 tick:40ms tick:160ms "${laws[@]}"
draw_served
stop_databases
