#!/usr/bin/env bash
# Goal: several docstore-servers that share one store under leases lose nothing that was
# acknowledged, and show nothing stale, whatever becomes of one of them; and one that leaves in
# order is not even noticed.
# Method: servers and a router on one private PostgreSQL, which is the store and, unless --leases
# says otherwise, the lease service. docstore-load --verify offers a fixed rate to the router while
# servers come and go; everything that it ever had acknowledged is read back after each event, and at
# the end by a server without a memory.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: takeover_test.sh BIN_DIR [OPTIONS]
  --events LIST  which, in which order, of: join (a server more), drain (SIGTERM: no request may
                 fail), kill (kill -9), pause (SIGSTOP for longer than the lease)
                 (join,drain,join,kill,pause)
  --leases S     postgres, or etcd: a private one (postgres)
  --ttl N        seconds that a lease lives (2)
  --rate R       requests per second (1000), half of them writes
  --seed N       of the moments of the events and of the load (1)
Exit status: 0 if every acknowledged write was there.
TEXT
}

die() {
  echo "takeover_test: $*" >&2
  exit 1
}

events=join,drain,join,kill,pause leases=postgres ttl=2 rate=1000 seed=1
[[ ${1-} != --help ]] || { usage && exit 0; }
bin=${1:?"takeover_test: the directory of the programs is missing; see --help"}
shift
while (($#)); do
  case $1 in
    --events | --leases | --ttl | --rate | --seed)
      (($# > 1)) || die "$1 needs a value"
      printf -v "${1#--}" %s "$2"
      shift 2
      ;;
    *) die "no option $1; see --help" ;;
  esac
done
[[ $leases =~ ^(postgres|etcd)$ ]] || die "--leases is postgres or etcd"

# shellcheck source=/dev/null
source "$(dirname "${BASH_SOURCE[0]}")/../../sample-apps/demo/postgres.sh"

work=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-takeover.XXXXXX") # on a disk: /tmp is often memory
chmod 711 "$work" # PostgreSQL may run as another user
servers=() # processes of those that serve, oldest first
router=
load=
database=
etcd=
clean_up() {
  trap '' INT TERM HUP
  [[ -z $database ]] || signal_postgres KILL
  for pid in $load $router "${servers[@]}" $etcd $database; do
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# await_address OUT PROCESS: sets `address` to what a program says that it listens on.
await_address() {
  for _ in {1..400}; do
    address=$(sed -n 's/^listening on //p' "$1")
    [[ -z $address ]] || return 0
    kill -0 "$2" 2>/dev/null || break
    sleep 0.02
  done
  die "a program did not start: $(cat "${1%.out}.err")"
}

# await WHAT COMMAND...: until it succeeds.
await() {
  for _ in {1..1500}; do
    "${@:2}" && return
    sleep 0.02
  done
  die "in vain: $1; $(curl -s "$url/stats")"
}

number=0
join() {
  local log=$work/server$((++number))
  : >"$log.out"
  "$bin/docstore-server" --store "$store_url" --leases "$lease_url" --lease-ttl "${ttl}s" \
    --listen 127.0.0.1:0 --log-level info >"$log.out" 2>"$log.err" &
  servers+=($!)
  await_address "$log.out" $!
  newest=$address
}

owns_some() { # ADDRESS
  curl -s "$url/stats" >"$work/stats" && grep -q "\"owner\":\"$1\"" "$work/stats"
}
owns_none() { ! owns_some "$1"; }
all_owned() { curl -s "$url/metrics" | grep -qx "docstore_router_owned_ranges 16"; }

# The address of the process that the array names first: it has seen the most.
address_of() { # PROCESS
  local out
  for out in "$work"/server*.out; do
    [[ $(cat "${out%.out}.pid" 2>/dev/null) != "$1" ]] || sed -n 's/^listening on //p' "$out"
  done
}

run_load() { # OPTIONS...
  "$bin/docstore-load" --target "$url" --documents 500 --sections 2 --connections 32 --pipeline 1 \
    --timeout 30s --verify-file "$work/acknowledged" "$@"
}
