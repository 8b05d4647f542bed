# shellcheck shell=bash disable=SC2034,SC2154
# To be sourced by run.sh: nodes that keep their ranges on members, and clients that write to them.

declare -A pids addresses  # of the nodes, by name
asked=n0                   # the node that the clients ask
member_timeout=1s lease_ttl=3s

complain() { # WHAT
  echo "bench $bench: $1" >&2
  return 1
}

# join_node NAME DATALET [OPTION...]: to the deployment `deployment`: a new one, or again what is
# there. DATALET is a URL, or `rocksdb`, in a directory of its own.
join_node() {
  start start_member_node "$scratch/$1" "${2/#rocksdb/rocksdb:$scratch/$1/data}" \
    --join "etcd://$etcd_address/$deployment" --member-timeout "$member_timeout" --lease-ttl "$lease_ttl" \
    "${@:3}"
  pids[$1]=$database addresses[$1]=127.0.0.1:$node_port
}

# open_deployment COUNT [OPTION...]: an etcd and this number of nodes, n0, n1 and so on, all in.
# Nothing is left of the part before.
open_deployment() {
  local i
  say "starting $1 nodes"
  rm -rf "$scratch/etcd" "$scratch"/n[0-9]
  deployment=members
  start start_etcd "$scratch/etcd"
  for ((i = 0; i < $1; ++i)); do join_node "n$i" rocksdb "${@:2}"; done
  await 60 "all members are in" all_have "$1"
}

# ask WORD...: a command.
ask() {
  local address=${addresses[$asked]}
  redis-cli -h "${address%:*}" -p "${address##*:}" "$@"
}
status() { ask STOUT.STATUS; }

# ask_ok WORD...: a command that is answered OK.
ask_ok() {
  local reply
  reply=$(ask "$@" 2>&1) || true
  [[ $reply == OK ]] || complain "$*: $reply"
}

# members_in: for each range, how many members are in; 0 without an owner.
members_in() {
  status | jq -c '[.ranges[]
    | if .owner then [.members[] | select(.state == "in")] | length else 0 end]'
}
all_have() { # MEMBERS
  members_in | jq -e --argjson members "$1" 'length > 0 and all(. == $members)' >/dev/null 2>&1
}
all_in_mode() { # MODE
  status | jq -e --arg mode "$1" 'all(.ranges[]; .mode == $mode)' >/dev/null 2>&1
}

# await SECONDS WHAT COMMAND...: until the command succeeds.
await() {
  local end=$((SECONDS + $1))
  until "${@:3}"; do
    ((SECONDS < end)) || complain "not within $1 s: $2" || return 1
    sleep 0.05
  done
}

# forget PID: a process that has ended, so that nothing is sent to another one of its number.
forget() {
  local pid left=()
  for pid in "${processes[@]}"; do [[ $pid == "$1" ]] || left+=("$pid"); done
  processes=("${left[@]}")
  [[ $database != "$1" ]] || database=''
}

# kill_node NAME: by -9.
kill_node() {
  kill -KILL "${pids[$1]}"
  wait "${pids[$1]}" 2>/dev/null || true
  forget "${pids[$1]}"
}

# end_node NAME: as it should end.
end_node() {
  kill "${pids[$1]}"
  wait "${pids[$1]}" 2>/dev/null || true
  forget "${pids[$1]}"
}

# start_load NAME OPTION...: clients of the node `asked`. Results: NAME.json, NAME.dat in `scratch`.
start_load() {
  "$bin/member-bench" --server "${addresses[$asked]}" --timeline "$scratch/$1.dat" "${@:2}" \
    >"$scratch/$1.json" 2>"$scratch/$1.errors" &
  database=$!
}

# begin_load NAME OPTION...: returns when its first line is there. Only one load runs at once.
begin_load() {
  load_name=$1
  start start_load "$@"
  load=$database
  until [[ -s $scratch/$1.dat ]]; do
    load_runs
    sleep 0.05
  done
}

load_runs() {
  kill -0 "$load" 2>/dev/null || complain "$load_name ended early: $(<"$scratch/$load_name.errors")"
}

# end_load [SIGNAL]: waits for its end.
end_load() {
  local status=0
  load_runs
  [[ ! ${1-} ]] || kill "-$1" "$load"
  wait "$load" || status=$?
  forget "$load"
  ((status == 0)) || complain "$load_name: $(<"$scratch/$load_name.errors")"
}

# run_load NAME OPTION...: the same, from the begin to the end.
run_load() {
  begin_load "$@"
  end_load
}
