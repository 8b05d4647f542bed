# shellcheck shell=bash
# To be sourced: a private Redis on the loopback that answers for what is on its disk.

# start_redis DIRECTORY: makes a new one there, or starts again what is there, on its old port; sets
# `database` to its process and `redis_url` to a store's URL without a number of a database and
# without options. Fails with the reason on standard error.
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
      --save "" --appendonly yes --appendfsync always --databases 64 >>"$1/log" 2>&1 &
    database=$!
    for _ in {1..400}; do
      # By its own socket, which no other has; while it loads its file it answers another thing.
      if [[ $(redis-cli -s "$1/socket" PING 2>/dev/null) == PONG ]]; then
        echo "$port" >"$1/port"
        redis_url=redis://127.0.0.1:$port
        return
      fi
      kill -0 "$database" 2>/dev/null || break
      sleep 0.05
    done
    wait "$database" 2>/dev/null || true
    sleep 0.1
  done
  echo "Redis did not start: $(tail -n 5 "$1/log")" >&2
  return 1
}

# signal_redis SIGNAL: to the server and to what rewrites its file.
signal_redis() {
  local children
  children=$(cat "/proc/$database/task/$database/children" 2>/dev/null) || return 0 # it is gone
  # shellcheck disable=SC2086  # one word each
  kill "-$1" "$database" $children 2>/dev/null || true
}
