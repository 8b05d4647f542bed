# Our server beside redis-server: gets and sets in pipelines, and the memory of their processes. The
# process that is measured is the one that took the records: none is restarted.
# Sourced by run.sh behind server.sh.
# shellcheck shell=bash disable=SC2154

# resident: bytes of the database's process, its mapped files among them.
resident() { awk '/^VmRSS:/ { print $2 * 1024 }' "/proc/$database/status"; }

# sets PORT: per second, in pipelines of 16; of other keys than the records'.
sets() {
  redis-benchmark -p "$1" -t set -n "$set_count" -r "$set_count" -d 136 -P 16 -c 16 --csv 2>"$scratch/errors" |
    awk -F'"' '$2 == "SET" { printf "%.0f", $4 }'
}

# merging: a merge of our server runs or waits.
merging() {
  (($(redis-cli -p "$blowfish_port" INFO persistence | tr -d '\r' |
    awk -F: '$1 ~ /^merges_(running|waiting)$/ { sum += $2 } END { print sum + 0 }') > 0))
}

# await_calm: until no merge of our server has run or waited for 2 s.
await_calm() {
  local calm=0
  while ((calm < 10)); do
    if merging; then calm=0; else ((++calm)); fi
    sleep 0.2
  done
}

# of_server NAME PORT: measures it, which has the records; adds a line to $scratch/servers. Its memory
# is what it has after the gets.
of_server() {
  local memory gets sets
  "$bin/shard-load" --to "127.0.0.1:$2" --size "$raw_bytes" --operations get --closed "$calibration" \
    --depth 16 --connections 16 --csv /dev/null --json "$scratch/summary" 2>"$scratch/errors" ||
    { cat "$scratch/errors" >&2 && return 1; }
  gets=$(jq '.answered_per_s | round' "$scratch/summary")
  memory=$(resident)  # with the layers that the load was given
  # A failure must not end the script before its reason is printed.
  sets=$(sets "$2") || sets=''
  [[ $sets ]] || { cat "$scratch/errors" >&2 && return 1; }
  printf '%-24s %10d %10d %14d\n' "$1" "$gets" "$sets" "$memory"
  jq -nc --arg name "$1" --argjson gets "$gets" --argjson sets "$sets" --argjson memory "$memory" \
    '{name: $name, gets_per_s: $gets, sets_per_s: $sets, resident_bytes: $memory}' >>"$scratch/servers"
}

# of_redis NAME SETTING...: pairs for CONFIG SET, before the records come.
of_redis() {
  local name=$1 port
  shift
  stop_database
  rm -rf "$scratch/redis"
  apart start_redis "$scratch/redis"
  port=${redis_url##*:}
  redis-cli -p "$port" CONFIG SET "$@" >/dev/null
  keyed "$port"
  of_server "$name" "$port"
}

# of_ours NAME OPTION...: a new server.
of_ours() {
  stop_database
  rm -rf "$scratch/beside"
  apart start_blowfish "$scratch/beside" --shards 1 --attributes "$attributes" "${@:2}"
  keyed "$blowfish_port"
  await_calm
  of_server "$1" "$blowfish_port"
}

beside_redis() {
  say "beside redis-server: $raw_bytes bytes of values"
  : >"$scratch/servers"
  printf '%-24s %10s %10s %14s\n' "" gets/s sets/s "resident bytes"
  # Merged data and its layers take at most 0.3 of the values. Data that is not merged yet comes on
  # top: at most an eighth of the values, or the default, a part of the memory budget.
  of_ours blowfish-server --memory-budget $((raw_bytes * 3 / 10)) --freeze-bytes $((raw_bytes / 32)) \
    --merge-bytes $((raw_bytes / 8))
  of_ours "blowfish-server, defaults" --memory-budget $((raw_bytes * 3 / 10))
  of_redis redis-server appendonly no
  of_redis "redis-server, synced" appendonly yes
  jq -s --arg commit "$commit" --arg machine "$machine" --argjson raw "$raw_bytes" \
    '{commit: $commit, machine: $machine, raw_bytes: $raw, servers: .}' "$scratch/servers" \
    >"$results/shard/redis.json"
}
