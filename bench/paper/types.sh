# Figure 6 through all parts of a real service (servers.sh), on three types of store; sourced by
# run.sh. A store acknowledges what is on its disks:
#
# postgres  one PostgreSQL with the settings of initdb
# cluster   a Redis Cluster of three masters, each with a replica, with appendfsync always
# members   three Redis with appendfsync always; the servers keep each of 16 ranges equal on all
#           three, and answer a change when all three have it (mode ms+sc)
#
# An etcd has the leases.
# shellcheck shell=bash disable=SC2034,SC2154

# shellcheck source=/dev/null
source "$here/servers.sh"

types_policies=(tick:20ms tick:80ms "${laws[@]}")
[[ ! $quick ]] || types_policies=(tick:20ms natural adaptive)

name_store() {
  local url
  leases=etcd://$etcd_address/service-$keyspaces
  case $type in
    postgres) store=(--store "$postgres_url&table=documents_$keyspaces" --leases "$leases") ;;
    cluster) store=(--store "$cluster_url?prefix=$keyspaces:" --leases "$leases") ;;
    members)
      # Overload must not put a member out.
      store=(--store "cluster:$leases" --member-timeout 10s)
      for url in "${member_urls[@]}"; do
        redis-cli -p "${url##*:}" FLUSHALL >/dev/null
        store+=(--datalet "$url")
      done
      ;;
  esac
}

# By the sets of the ranges, whose keys and values are in base64.
store_is_whole() {
  [[ $type == members ]] || return 0
  local keys
  keys=$(jq -n --arg name "service-$keyspaces" \
    '{key: ($name + "/set/" | @base64), range_end: ($name + "/set0" | @base64)}')
  curl -s "http://$etcd_address/v3/kv/range" -d "$keys" | jq -e \
    '[.kvs[]?.value | @base64d | fromjson | .members[].in] | length == 16 * 3 and all' >/dev/null
}

start_store() {
  local name
  start start_etcd "$scratch/$type-etcd"
  case $type in
    postgres) start start_postgres "$scratch/types-postgres" ;;
    cluster) start_redis_cluster "$scratch/types-cluster" ;;
    members)
      member_urls=()
      for name in a b c; do
        start start_redis "$scratch/member-$name"
        member_urls+=("$redis_url")
      done
      ;;
  esac
}

for type in postgres cluster members; do
  say "starting the store: $type"
  start_store
  serve_rates "service-on-$type" 10000 "${types_policies[@]}"
  stop_databases
done
figure load 6-stores-service "Three types of store, docstore" \
  "xlabel='requests per second, half of them writes'; logx=1; xmax='10000'" \
  "PostgreSQL|service-on-postgres|${types_policies[*]}" \
  "Redis Cluster|service-on-cluster|${types_policies[*]}" \
  "three members|service-on-members|${types_policies[*]}"
