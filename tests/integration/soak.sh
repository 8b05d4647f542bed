#!/usr/bin/env bash
# Goal: docstore-server holds no more memory than docs/OPTIONS.md states, for any clients.
# Method: a server with small limits serves hostile clients (soak_clients.py) and a usual load. Its
# resident memory, sampled each second, is at most 1.2 times the sum of the limits, and 40 MB.
# Control: a server with larger limits fails by the same measure.
#
# Usage: soak.sh DIRECTORY_OF_PROGRAMS [STORE] [SECONDS]
# STORE: rocksdb (default) or redis. SECONDS: default $STOUT_SOAK_SECONDS, or 20.
set -euo pipefail
export bin=$1
store=${2:-rocksdb}
seconds=${3:-${STOUT_SOAK_SECONDS:-20}}
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source-path=SCRIPTDIR/../.. source=sample-apps/demo/databases.sh
source "$here/../../sample-apps/demo/databases.sh"

# shellcheck source-path=SCRIPTDIR source=work_directory.sh
source "$here/work_directory.sh"
database=

die() {
  echo "soak: $*" >&2
  [[ ! -f $work/server.log ]] || tail -n 20 "$work/server.log" >&2
  exit 1
}

# The limits, and what the table in docs/OPTIONS.md makes of them: keep both the same.
mib=$((1 << 20))
lanes=2
section=$mib
connections=64
pipelined=128
limits=(--lanes $lanes --threads 2 --max-section-bytes $section --max-sections 1000
  --max-connections $connections --max-pipelined $pipelined --max-header-bytes 4096
  --request-timeout 5s --max-dirty-keys 10000 --max-batches-in-flight 2 --max-batch-bytes 2MiB
  --max-dirty-bytes 4MiB)
tight=(--cache-bytes 16MiB --max-body-bytes-in-flight 16MiB --max-reads-in-flight 4)
loose=(--cache-bytes 1GiB --max-body-bytes-in-flight 1GiB --max-reads-in-flight 256)
sum=$((16 * mib))                                    # cache
((sum += lanes * (4 * mib + 10000 * 250)))           # changes that are not durable
((sum += lanes * 2 * 2 * mib * 2))                   # write batches, and the store's copy of them
((sum += 16 * mib + 16 * mib))                       # bodies of requests; answers beyond the cache
((sum += lanes * 4 * section * 3))                   # reads, and the store's copies of them
((sum += connections * (32 + pipelined * 4) * 1024)) # connections, and requests of each
case $store in
  rocksdb) sum=$((sum + 4 * 2 * mib + mib + 4 * mib)) ;; # memtables, block cache
  redis) ;;
  *) die "no store '$store'" ;;
esac
limit=$((sum * 12 / 10 + 40 * 1000 * 1000))

open_store() { # sets `url`
  case $store in
    rocksdb) url="rocksdb:$work/db-$1?memtable=2MiB&cache=4MiB" ;;
    redis)
      start_redis "$work/redis" || die "no private Redis"
      url=$redis_url
      ;;
  esac
}

# resident: bytes of the server.
resident() { awk '/^VmRSS:/ { print $2 * 1024 }' "/proc/$server/status"; }

# soak NAME SECONDS OPTION...: sets `most`, the most bytes that were resident, and `within`: 1 if the
# limit was kept. It ends at the first sample beyond.
soak() {
  local name=$1 port clients load until now
  open_store "$name"
  : >"$work/$name.out"
  "$bin/docstore-server" --store "$url" --listen 127.0.0.1:0 --log-level warning "${limits[@]}" \
    "${@:3}" >"$work/$name.out" 2>"$work/server.log" </dev/null &
  server=$!
  for _ in {1..600}; do
    port=$(sed -n 's/^listening on .*://p' "$work/$name.out")
    [[ -z $port ]] || break
    kill -0 "$server" 2>/dev/null || die "the server does not start"
    sleep 0.1
  done
  [[ -n $port ]] || die "the server does not listen"
  /usr/bin/python3 "$here/soak_clients.py" "$port" "$2" >"$work/clients.out" 2>&1 &
  clients=$!
  "$bin/docstore-load" --target "http://127.0.0.1:$port" --rate 300 --documents 100000 \
    --value-bytes 200 --connections 4 --duration "$2s" >"$work/load.out" 2>&1 &
  load=$!
  most=0 within=1
  until=$((SECONDS + $2))
  while ((SECONDS < until && within)); do
    sleep 1
    kill -0 "$server" 2>/dev/null || die "the server has ended"
    now=$(resident)
    ((now <= most)) || most=$now
    ((now <= limit)) || within=0
  done
  if ((within)); then
    wait "$clients" || { cat "$work/clients.out" >&2 && die "the clients did not do their part"; }
    cat "$work/clients.out"
    wait "$load" || true # it meets refusals
    curl -sf --max-time 20 "http://127.0.0.1:$port/healthz" >/dev/null || die "it is not healthy"
    kill -TERM "$server"
    wait "$server" || die "the server does not end in order"
  else
    curl -s --max-time 5 "http://127.0.0.1:$port/metrics" >"$work/metrics" || true
    kill -KILL "$clients" "$load" "$server" 2>/dev/null || true
    wait "$clients" "$load" "$server" 2>/dev/null || true
  fi
  [[ -z $database ]] || { kill "$database" && wait "$database" && database=; } || true
}

soak tight "$seconds" "${tight[@]}"
if ((!within)); then
  grep -E '^(stout_(cached|lent|dirty)_bytes|docstore_(body|connections))' "$work/metrics" >&2 || true
  die "$most bytes are resident, more than $limit (limits of $sum bytes)"
fi
echo "soak: at most $most bytes were resident in $seconds s; limits of $sum bytes allow $limit"

[[ $store == rocksdb ]] || exit 0
soak loose 60 "${loose[@]}"
((!within)) || die "a server with larger limits was not found out: $most bytes, $limit allowed"
echo "soak: a server with larger limits is found out at $most bytes"
