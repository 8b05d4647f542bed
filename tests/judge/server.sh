#!/usr/bin/env bash
# Starts, kills and stops the private server of a judge.
# usage: server.sh start|restart|stop SERVER DIRECTORY BIN_DIR
#   start    starts SERVER on a free port of the loopback and writes it to DIRECTORY/port
#   restart  kill -9, then starts it again on its data and on its port
#   stop     ends it in order. Fails if it does not end with status 0
set -euo pipefail

action=$1 server=$2 directory=$3 bin=$4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() {
  echo "server.sh: $*" >&2
  exit 1
}

# command_of PORT: sets `command`, which serves this port. A further server is one more line here, and
# one in the table of run.sh.
command_of() {
  case $server in
    blowfish | lossy) command=("$bin/blowfish-server" --shards 2 --dir "$directory/data") ;;
    node) command=("$bin/stout-node" --store "rocksdb:$directory/data") ;;
    miniredis) command=("$bin/stout-node" --store "redis://127.0.0.1:$(<"$directory/miniredis-port")?mode=plain") ;;
    members) command=("${member[@]}" --datalet "rocksdb:$directory/data") ;;
    docstore) command=("$bin/docstore-server" --store "rocksdb:$directory/data") ;;
    *) die "no server '$server'" ;;
  esac
  command+=(--listen "127.0.0.1:$1" --log-level warning)
}

# Server `members` is one of three nodes that keep each range on all their stores. It starts and ends
# with the two others and their etcd; they stay while it is killed.
member=("$bin/stout-node" --join "etcd://127.0.0.1:$(cat "$directory/etcd-port" 2>/dev/null || true)/judge"
  --lease-ttl 2s --reply-deadline 2s)

run_etcd() { # PORT: and serves its peers at the next port
  local clients=http://127.0.0.1:$1 peers=http://127.0.0.1:$(($1 + 1))
  rm -rf "$directory/etcd" # of an attempt at another port
  exec etcd --data-dir "$directory/etcd" --listen-client-urls "$clients" --advertise-client-urls "$clients" \
    --listen-peer-urls "$peers" --initial-advertise-peer-urls "$peers" --initial-cluster "default=$peers" \
    >"$directory/etcd.log" 2>&1
}

etcd_answers() { # PORT
  curl --silent --fail --max-time 2 --output /dev/null "http://127.0.0.1:$1/health"
}

run_member() { # PORT NUMBER
  exec "${member[@]}" --datalet "rocksdb:$directory/data$2" --listen "127.0.0.1:$1" --log-level warning
}

# start_other READY COMMAND [ARGUMENT]: runs `COMMAND PORT ARGUMENT` with ports at random until a server
# is ready, as `READY PORT` reports. Sets `port`.
start_other() {
  local pid
  for _ in {1..20}; do
    port=$((16384 + SRANDOM % 16000))
    "$2" "$port" "${@:3}" >>"$directory/server.log" 2>&1 </dev/null &
    pid=$!
    if serves "$pid" "$1" "$port"; then
      echo "$pid" >>"$directory/other-pids"
      return
    fi
    kill -KILL "$pid" 2>/dev/null || true
  done
  die "no server for '${*:2}': $(tail -q -n 3 "$directory"/*.log)"
}

start_others() {
  local port
  command -v etcd >/dev/null || die "etcd is not installed: apt-get install etcd-server"
  start_other etcd_answers run_etcd
  echo "$port" >"$directory/etcd-port"
  member[2]=etcd://127.0.0.1:$port/judge
  start_other answers run_member 2
  start_other answers run_member 3
}

# Server `miniredis` is a node in front of a store of another make. Only the node is killed.
run_miniredis() { # PORT
  exec "$judge_home/work/$server/judge" "127.0.0.1:$1"
}

start_miniredis() {
  local port
  start_other answers run_miniredis
  echo "$port" >"$directory/miniredis-port"
}

# Waits until each range has three members, for at most 20 s.
await_members() {
  for _ in {1..200}; do
    [[ $(redis-cli -p "$1" STOUT.STATUS | grep -o '"state":"in"' | wc -l) != 48 ]] || return 0
    sleep 0.1
  done
  die "the members are not in: $(redis-cli -p "$1" STOUT.STATUS)"
}

# serves PID READY PORT: waits at most 20 s until `READY PORT` succeeds. Fails at once if the process ends.
serves() {
  for _ in {1..400}; do
    alive "$1" || return 1
    ! "$2" "$3" || return 0
    sleep 0.05
  done
  return 1
}

# answers PORT: whether the server there is ready.
answers() {
  case $server in
    docstore) curl --silent --fail --max-time 2 --output /dev/null "http://127.0.0.1:$1/healthz" ;;
    *) [[ $(timeout 2 redis-cli -p "$1" PING 2>/dev/null) == PONG ]] ;;
  esac
}

# alive PID: whether it runs. A killed process whose parent does not wait for it is a zombie.
alive() { [[ $(ps -o stat= -p "$1" 2>/dev/null) == [!Z]* ]]; }

end() { # SIGNAL: and waits at most 20 s until the server is gone
  local pid
  pid=$(<"$directory/pid")
  kill "-$1" "$pid" 2>/dev/null || true
  for _ in {1..400}; do
    ! alive "$pid" && [[ -s $directory/status ]] && return
    sleep 0.05
  done
  die "$server did not end in 20 s after SIG$1"
}

start() {
  local command port try
  for try in {1..20}; do
    port=$(cat "$directory/server-port" 2>/dev/null || echo $((16384 + SRANDOM % 16000)))
    command_of "$port"
    rm -f "$directory/status" "$directory/pid"
    # The subshell waits for the server, so that its exit status is known to `stop`.
    (
      "${command[@]}" >>"$directory/server.log" 2>&1 </dev/null &
      echo $! >"$directory/pid"
      wait $! && echo 0 >"$directory/status" || echo $? >"$directory/status"
    ) >/dev/null 2>&1 &
    until [[ -s $directory/pid ]]; do sleep 0.05; done
    if serves "$(<"$directory/pid")" answers "$port"; then
      echo "$port" >"$directory/server-port"
      return
    fi
    sleep "0.$try"
  done
  die "$server did not start: $(tail -n 3 "$directory/server.log")"
}

# In front of server `lossy` is a proxy that loses writes: judges must notice.
start_proxy() {
  python3 "$here/control/lossy_proxy.py" "$(<"$directory/server-port")" "$directory/port" \
    >>"$directory/server.log" 2>&1 </dev/null &
  echo $! >"$directory/proxy-pid"
  for _ in {1..200}; do
    [[ ! -s $directory/port ]] || return 0
    sleep 0.05
  done
  die "the proxy did not start: $(tail -n 3 "$directory/server.log")"
}

case $action in
  start)
    mkdir -p "$directory"
    [[ $server != members ]] || start_others
    [[ $server != miniredis ]] || start_miniredis
    start
    [[ $server != members ]] || await_members "$(<"$directory/server-port")"
    if [[ $server == lossy ]]; then start_proxy; else cp "$directory/server-port" "$directory/port"; fi
    ;;
  restart)
    end KILL
    start
    ;;
  stop)
    [[ $server != lossy ]] || kill "$(<"$directory/proxy-pid")"
    end TERM
    [[ ! -e $directory/other-pids ]] || xargs kill <"$directory/other-pids"
    [[ $(<"$directory/status") == 0 ]] || die "$server ended with status $(<"$directory/status")"
    ;;
  *) die "no action '$action'" ;;
esac
