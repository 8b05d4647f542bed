#!/usr/bin/env bash
# Goal: whatever becomes of PostgreSQL under docstore-server, no write that was acknowledged is lost or
# stale, and no read has shown what was undone.
# Method: docstore-load --verify offers a fixed rate to docstore-server on a private PostgreSQL; in the
# middle of each round the fault strikes; at the end everything ever acknowledged is read back from a
# server that was started anew.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: postgres_fault_test.sh BIN_DIR [OPTIONS]
  --fault F      kill: kill -9 of PostgreSQL, which is started again; stop: SIGSTOP for --pause
                 seconds; takeover: kill -9 of docstore-server, and another takes over (kill)
  --rounds N     how often (3)
  --pause N      seconds that PostgreSQL stands still (10)
  --rate R       requests per second (1000), half of them writes
  --seed N       of the moments and of the load (1)
Exit status: 0 if every acknowledged write was there.
TEXT
}

die() {
  echo "postgres_fault_test: $*" >&2
  exit 1
}

fault=kill rounds=3 pause=10 rate=1000 seed=1
[[ ${1-} != --help ]] || { usage && exit 0; }
bin=${1:?"postgres_fault_test: the directory of the programs is missing; see --help"}
shift
while (($#)); do
  case $1 in
    --fault | --rounds | --pause | --rate | --seed)
      (($# > 1)) || die "$1 needs a value"
      printf -v "${1#--}" %s "$2"
      shift 2
      ;;
    *) die "no option $1; see --help" ;;
  esac
done
[[ $fault =~ ^(kill|stop|takeover)$ ]] || die "--fault is kill, stop or takeover"
seconds=3
[[ $fault != stop ]] || seconds=$((pause + 3))

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
source "$here/../../sample-apps/demo/postgres.sh"

work=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-fault.XXXXXX") # on a disk: /tmp is often memory
chmod 711 "$work"                                            # PostgreSQL may run as another user
server=
load=
database=
clean_up() {
  trap '' INT TERM HUP
  [[ -z $database ]] || signal_postgres KILL
  for pid in $load $server $database; do
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

listen=127.0.0.1:0 # from the second start on the port that the first has found
start_server() {
  : >"$work/out"
  "$bin/docstore-server" --store "$postgres_url&timeout=2s" --listen "$listen" \
    --log-level error >"$work/out" 2>"$work/err" &
  server=$!
  local address
  for _ in {1..400}; do
    address=$(sed -n 's/^listening on //p' "$work/out")
    [[ -z $address ]] || { listen=$address && return; }
    kill -0 "$server" 2>/dev/null || break
    sleep 0.02
  done
  die "docstore-server did not start: $(<"$work/err")"
}

kill_server() {
  kill -KILL "$server"
  wait "$server" 2>/dev/null || true
  server=
}

run_load() { # OPTIONS...
  "$bin/docstore-load" --target "http://$listen" --documents 500 --sections 2 --connections 16 \
    --pipeline 8 --timeout 30s --verify-file "$work/acknowledged" "$@"
}

strike() {
  case $fault in
    kill)
      signal_postgres KILL
      wait "$database" 2>/dev/null || true
      start_postgres "$work/postgres" || die "PostgreSQL did not come back"
      ;;
    stop)
      signal_postgres STOP
      sleep "$pause"
      signal_postgres CONT
      ;;
    takeover)
      kill_server
      start_server
      ;;
  esac
}

start_postgres "$work/postgres" || die "no private PostgreSQL"
start_server
RANDOM=$seed
for ((round = 1; round <= rounds; ++round)); do
  run_load --rate "$rate" --duration "${seconds}s" --seed "$((seed * 1000 + round))" \
    >"$work/load" 2>&1 &
  load=$!
  moment_ms=$((300 + 1200 * RANDOM / 32768))
  sleep "$((moment_ms / 1000)).$(printf %03d $((moment_ms % 1000)))"
  strike
  status=0
  wait "$load" || status=$?
  load=
  ((status == 0)) || die "round $round, $fault at $moment_ms ms (seed $seed): $(<"$work/load")"
  echo "round $round: $fault at $moment_ms ms; $(grep -m 1 '^verify:' "$work/load")"
done

kill_server
start_server
run_load --verify-only 2>"$work/load" || die "at the end (seed $seed): $(<"$work/load")"
cat "$work/load"
echo "postgres_fault_test: $fault, $rounds times: nothing acknowledged was lost or stale"
