#!/usr/bin/env bash
# Goal: no write that docstore-server has acknowledged is lost or stale after `kill -9`, and no read
# has shown what a crash undid.
# Method: rounds on one RocksDB directory and one port. In each, docstore-load --verify offers a
# fixed rate, the server is killed in the middle at a seeded moment and started again, the load goes
# on, and everything that it ever had acknowledged, in this and all earlier rounds, is read back. At
# the very end the server is killed once more and all is read from the disk.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: crash_test.sh BIN_DIR [OPTIONS]
  --rounds N     kills (20)
  --policy P     of docstore-server (natural)
  --rate R       requests per second (2000), half of them writes
  --seconds N    length of the load of a round (2)
  --seed N       of the moments of the kills and of the load (1)
Anything after -- goes to docstore-server.
Exit status: 0 if every acknowledged write was there.
TEXT
}

die() {
  echo "crash_test: $*" >&2
  exit 1
}

rounds=20 policy=natural rate=2000 seconds=2 seed=1
[[ ${1-} != --help ]] || { usage && exit 0; }
bin=${1:?"crash_test: the directory of the programs is missing; see --help"}
shift
while (($#)); do
  case $1 in
    --rounds | --policy | --rate | --seconds | --seed)
      (($# > 1)) || die "$1 needs a value"
      printf -v "${1#--}" %s "$2"
      shift 2
      ;;
    --) shift && break ;;
    *) die "no option $1; see --help" ;;
  esac
done
server_options=("$@")

work=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-crash.XXXXXX") # on a disk: /tmp is often memory
server=
load=
clean_up() {
  trap '' INT TERM HUP
  for pid in $load $server; do
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
  "$bin/docstore-server" --store "rocksdb:$work/db" --policy "$policy" --listen "$listen" \
    --log-level warning "${server_options[@]}" >"$work/out" 2>"$work/err" &
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
    --pipeline 8 --timeout 10s --verify-file "$work/acknowledged" "$@"
}

RANDOM=$seed
start_server
for ((round = 1; round <= rounds; ++round)); do
  run_load --rate "$rate" --duration "${seconds}s" --seed "$((seed * 1000 + round))" \
    >"$work/load" 2>&1 &
  load=$!
  # Within the middle 80 % of the load; the random number has 15 bits.
  moment_ms=$((seconds * (100 + 800 * RANDOM / 32768)))
  sleep "$((moment_ms / 1000)).$(printf %03d $((moment_ms % 1000)))"
  kill_server
  start_server
  status=0
  wait "$load" || status=$?
  load=
  ((status == 0)) || die "round $round, killed at $moment_ms ms (seed $seed): $(<"$work/load")"
  echo "round $round: killed at $moment_ms ms; $(grep -m 1 '^verify:' "$work/load")"
done

kill_server
start_server
run_load --verify-only 2>"$work/load" || die "at the end (seed $seed): $(<"$work/load")"
cat "$work/load"

# A test that tested nothing must not pass: the kills have to have met writes under way.
((rounds == 0)) || grep -q '^open ' "$work/acknowledged" ||
  die "no write was under way at any of $rounds kills: raise --rate"
echo "crash_test: $rounds kills, nothing acknowledged was lost or stale"
