# shellcheck shell=bash
# To be sourced: private databases that answer for what is on their disks, one at a time. `database`
# is the process of the one that was started last.

postgres_programs=(/usr/lib/postgresql/*/bin)
postgres_programs=${postgres_programs[-1]}

# start_postgres DIRECTORY [INITDB_OPTION...]: a PostgreSQL on a socket in its directory, so that it
# meets no other: a new one, or again what is there. Sets `postgres_url`, a store's URL without
# options. Its parents must let others pass, for the server refuses to run as root; then it runs as
# the user postgres. Fails with the reason on standard error.
start_postgres() {
  local as=()
  if [[ ! -x $postgres_programs/initdb ]]; then
    echo "no PostgreSQL here; ./dev setup installs it" >&2
    return 1
  fi
  ((EUID != 0)) || as=(setpriv --reuid=postgres --regid=postgres --init-groups)
  if [[ ! -f $1/data/PG_VERSION ]]; then
    mkdir -p "$1"
    ((EUID != 0)) || chown -R postgres "$1"
    "${as[@]}" "$postgres_programs/initdb" -D "$1/data" --username=postgres --auth=trust "${@:2}" \
      >"$1/log" 2>&1 || { cat "$1/log" >&2 && return 1; }
  fi
  postgres_url="postgres:///postgres?host=$1&user=postgres"
  # Right after a kill, what is left of the old one may still be there.
  for _ in {1..50}; do
    "${as[@]}" "$postgres_programs/postgres" -D "$1/data" -c listen_addresses= \
      -c unix_socket_directories="$1" -c max_connections=300 >>"$1/log" 2>&1 &
    database=$!
    await_database "$postgres_programs/pg_isready" -q -h "$1" && return
  done
  echo "PostgreSQL did not start: $(tail -n 5 "$1/log")" >&2
  return 1
}

# start_redis DIRECTORY [OPTION...]: a Redis on a port of the loopback, and on a socket in its
# directory: a new one, or again what is there, on its old port. Sets `redis_url`, a store's URL without
# a number of a database and without options. Fails with the reason on standard error.
start_redis() {
  local port
  if ! command -v redis-server >/dev/null; then
    echo "no Redis here; ./dev setup installs it" >&2
    return 1
  fi
  mkdir -p "$1"
  for _ in {1..50}; do
    # Below the ports that the system gives to whoever asks for any.
    port=$(cat "$1/port" 2>/dev/null || echo $((16384 + SRANDOM % 16000)))
    redis-server --bind 127.0.0.1 --port "$port" --unixsocket "$1/socket" --dir "$1" \
      --save "" --appendonly yes --appendfsync always --databases 64 "${@:2}" >>"$1/log" 2>&1 &
    database=$!
    if await_database redis_answers "$1/socket"; then
      echo "$port" >"$1/port"
      redis_url=redis://127.0.0.1:$port
      return
    fi
  done
  echo "Redis did not start: $(tail -n 5 "$1/log")" >&2
  return 1
}

# By its own socket, which no other has; while it loads its file it answers another thing.
redis_answers() { # SOCKET
  [[ $(redis-cli -s "$1" PING 2>/dev/null) == PONG ]]
}

# start_blowfish DIRECTORY [OPTION...]: a blowfish-server on a port of the loopback, of the programs in
# `bin`: a new one, or again what is there, on its old port. Sets `blowfish_port`. Fails with the reason
# on standard error.
start_blowfish() {
  mkdir -p "$1"
  for _ in {1..50}; do
    blowfish_port=$(cat "$1/port" 2>/dev/null || echo $((16384 + SRANDOM % 16000)))
    "$bin/blowfish-server" --listen "127.0.0.1:$blowfish_port" --dir "$1/data" "${@:2}" \
      >>"$1/log" 2>&1 &
    database=$!
    if await_database redis-cli -p "$blowfish_port" PING >/dev/null 2>&1; then
      echo "$blowfish_port" >"$1/port"
      return
    fi
  done
  echo "blowfish-server did not start: $(tail -n 5 "$1/log")" >&2
  return 1
}

# start_member_node DIRECTORY DATALET OPTION...: a stout-node on a port of the loopback, of the programs
# in `bin`: a new one, or again what is there, on its old port. Sets `node_port`. Fails with the reason on
# standard error.
start_member_node() {
  mkdir -p "$1"
  for _ in {1..20}; do
    node_port=$(cat "$1/port" 2>/dev/null || echo $((16384 + SRANDOM % 16000)))
    : >"$1/out" # the node's own redirection may come after the first look at it
    "$bin/stout-node" --listen "127.0.0.1:$node_port" --datalet "$2" --log-level warning "${@:3}" \
      >"$1/out" 2>>"$1/log" &
    database=$!
    if await_database grep -q '^listening on' "$1/out"; then
      echo "$node_port" >"$1/port"
      return
    fi
  done
  echo "stout-node did not start: $(tail -n 3 "$1/log")" >&2
  return 1
}

# start_etcd DIRECTORY: an etcd of one member on a port of the loopback. Sets `etcd_address`. Fails with
# the reason on standard error.
start_etcd() {
  local peer
  if ! command -v etcd >/dev/null; then
    echo "no etcd here; ./dev setup installs it" >&2
    return 1
  fi
  mkdir -p "$1"
  for _ in {1..20}; do
    etcd_address=127.0.0.1:$((16384 + SRANDOM % 8000)) peer=127.0.0.1:$((24384 + SRANDOM % 8000))
    etcd --data-dir "$1/data" --listen-client-urls "http://$etcd_address" \
      --advertise-client-urls "http://$etcd_address" --listen-peer-urls "http://$peer" \
      --initial-advertise-peer-urls "http://$peer" --initial-cluster "default=http://$peer" \
      >>"$1/log" 2>&1 &
    database=$!
    await_database curl -s -o "$1/health" "http://$etcd_address/health" && return
    rm -rf "$1/data"
  done
  echo "etcd did not start: $(tail -n 3 "$1/log")" >&2
  return 1
}

# apart COMMAND...: what it leaves running does not get our Ctrl-C.
apart() {
  set -m
  "$@"
  set +m
}

# await_database COMMAND...: until the command succeeds. Fails if the database ends, or does not
# answer for long.
await_database() {
  for _ in {1..400}; do
    "$@" && return
    kill -0 "$database" 2>/dev/null || break
    sleep 0.05
  done
  kill -KILL "$database" 2>/dev/null || true
  wait "$database" 2>/dev/null || true
  sleep 0.1
  return 1
}

# end_child PID: asks, waits for an orderly end, insists.
end_child() {
  [[ -n $1 ]] && kill -TERM "$1" 2>/dev/null || return 0
  for _ in {1..50}; do
    kill -0 "$1" 2>/dev/null || break
    sleep 0.1
  done
  kill -KILL "$1" 2>/dev/null || true
  wait "$1" 2>/dev/null || true
}

# signal_database SIGNAL: to the server and to its children: connections, or what rewrites its file.
signal_database() {
  local children
  children=$(cat "/proc/$database/task/$database/children" 2>/dev/null) || return 0 # it is gone
  # shellcheck disable=SC2086  # one word each
  kill "-$1" "$database" $children 2>/dev/null || true
}
