# shellcheck shell=bash
# To be sourced: a private PostgreSQL, on a socket in a directory of its own, so that it meets no
# other. The server refuses to run as root; then it runs as the user postgres.

postgres_programs=(/usr/lib/postgresql/*/bin)
postgres_programs=${postgres_programs[-1]}

# start_postgres DIRECTORY [INITDB_OPTION...]: makes a new one there, or starts again what is there;
# sets `database` to its process and `postgres_url` to a store's URL without options. Its parents
# must let others pass. Fails with the reason on standard error.
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
      -c unix_socket_directories="$1" >>"$1/log" 2>&1 &
    database=$!
    for _ in {1..400}; do
      postgres_answers "$1" && return
      kill -0 "$database" 2>/dev/null || break
      sleep 0.05
    done
    wait "$database" 2>/dev/null || true
    sleep 0.1
  done
  echo "PostgreSQL did not start: $(tail -n 5 "$1/log")" >&2
  return 1
}

postgres_answers() { # DIRECTORY
  "$postgres_programs/pg_isready" -q -h "$1"
}

# signal_postgres SIGNAL: to the server and to the processes of its connections.
signal_postgres() {
  local children
  children=$(cat "/proc/$database/task/$database/children" 2>/dev/null) || return 0 # it is gone
  # shellcheck disable=SC2086  # one word each
  kill "-$1" "$database" $children 2>/dev/null || true
}
