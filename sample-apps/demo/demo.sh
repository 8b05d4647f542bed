#!/usr/bin/env bash
# The document service under a load that changes by two orders of magnitude, once per policy.
# `./dev demo` builds what it needs and calls it.
set -euo pipefail

usage() {
  cat <<TEXT
usage: ./dev demo [OPTIONS]              builds the programs first
       demo.sh BIN_DIR [OPTIONS]
       demo.sh --print-store [OPTIONS]   checks the options and prints the value of --store

For each policy: starts docstore-server on an empty store, imports text files of this machine, and
offers a light, a heavy and again a light load. Prints a line per second, then one table; writes plots
and JSON.

  --policies A,B,...    policies of docstore-server           ($policies)
  --light RATE          requests per second of the light steps ($light)
  --heavy RATE          requests per second of the heavy step  ($heavy)
  --step-seconds N      length of each of the three steps      ($step_seconds)
  --documents N         documents that the load works on       ($documents)
  --distribution D      uniform, or zipf:EXPONENT for hot ones ($distribution)
  --read-fraction F     share of reads, 0 to 1                 ($read_fraction)
  --sync-delay TIME     added to each sync of store rocksdb, as on a cloud volume; 0s: none
                                                               ($sync_delay)
  --store URL           rocksdb: a new one in a temporary directory; postgres, redis, blowfish: a
                        private server, started and stopped; any other URL of docstore-server is
                        used as it is, except cluster:, which is \`./dev demo cluster\`
                                                               ($(shown_store))
  --listen HOST:PORT    where docstore-server listens, under each policy in turn; port 0: a free one,
                        the same for all                       ($listen)
  --out DIR             where results go                       ($out)
  --help

A request is due at its own time, whether or not earlier ones were answered, and its latency counts
from then. The environment sets other defaults: DEMO_LIGHT, DEMO_HEAVY, DEMO_STEP_SECONDS.
TEXT
}

die() {
  echo "demo: $*" >&2
  exit "${status:-1}"
}

# shown_store: the store without its secrets, which may be anywhere behind the scheme.
shown_store() {
  local scheme=
  case $store in
    rocksdb | postgres | redis | blowfish) echo "$store" ;;
    *)
      [[ ! $store =~ ^[A-Za-z0-9+.-]+: ]] || scheme=${BASH_REMATCH[0]}
      echo "$scheme***"
      ;;
  esac
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
source "$here/databases.sh"
policies=unbatched,fixed:160ms,natural,adaptive
light=${DEMO_LIGHT:-200}
heavy=${DEMO_HEAVY:-20000}
step_seconds=${DEMO_STEP_SECONDS:-6}
documents=2000
distribution=zipf:0.99
read_fraction=0.5
store=rocksdb
sync_delay=4ms
listen=127.0.0.1:0
out=demo-out

[[ ${1-} == --help || ${1-} == -h ]] && usage && exit 0
(($#)) || status=2 die "the directory of the programs is missing; run ./dev demo"
bin=$1
shift
while (($#)); do
  option=$1
  case $option in
    --help | -h) usage && exit 0 ;;
    --policies | --light | --heavy | --step-seconds | --documents | --distribution | \
      --read-fraction | --sync-delay | --store | --listen | --out)
      (($# > 1)) || status=2 die "$option needs a value"
      name=${option#--}
      printf -v "${name//-/_}" %s "$2"
      shift 2
      ;;
    # Its name alone: it may be a URL, or have one behind a "=".
    *) status=2 die "unknown or malformed option '${option%%[^a-z-]*}'; see --help" ;;
  esac
done
[[ $step_seconds =~ ^[1-9][0-9]*$ ]] || status=2 die "--step-seconds needs a whole number, 1 or more"
for option in light heavy; do
  [[ ${!option} =~ ^([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$ ]] ||
    status=2 die "--$option (or DEMO_${option^^}) needs a number of requests per second"
done
[[ $documents =~ ^[1-9][0-9]*$ ]] || status=2 die "--documents needs a whole number, 1 or more"
[[ $read_fraction =~ ^(0?\.[0-9]+|[01]|1\.0*|0\.)$ ]] ||
  status=2 die "--read-fraction needs a number from 0 to 1"
[[ $listen =~ :[0-9]+$ ]] || status=2 die "--listen needs HOST:PORT, like 127.0.0.1:8080"
[[ $sync_delay =~ ^([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?(ns|us|ms|s|min|h)$ ]] ||
  status=2 die "--sync-delay needs a time, like 4ms"
[[ $store == rocksdb || $sync_delay == 4ms ]] ||
  status=2 die "--sync-delay is an option of --store rocksdb"
case $store in
  # These need several stores.
  cluster | cluster:* | polyglot | polyglot:*)
    status=2 die "--store ${store%%:*} is another demo: run ./dev demo ${store%%:*}"
    ;;
  rocksdb | postgres | redis | blowfish | *:*) ;;
  *) status=2 die "--store needs rocksdb, postgres, redis, blowfish or a URL" ;;
esac
# Below the ports that the system gives to others between two policies.
[[ $listen != *:0 ]] || listen=${listen%:0}:$((16384 + SRANDOM % 16000))
[[ $bin == --print-store ]] && echo "$store" && exit
for program in docstore-server docstore-import docstore-load; do
  [[ -x $bin/$program ]] || die "$bin/$program is missing; run ./dev demo, which builds it"
done

# --- Nothing stays behind: every child is known by its id and ended, the store removed ------------

work=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-demo.XXXXXX") # on a disk: /tmp is often memory
server=
client=
database=
new_out=

clean_up() {
  trap '' INT TERM HUP
  end_child "$client"
  end_child "$server"
  end_child "$database"
  rm -rf "$work"
  [[ -z $new_out ]] || rmdir "$new_out" 2>/dev/null || true # unless it has results
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# In the background and waited for: a shell that waits hears signals at once. Programs started so
# ignore Ctrl-C unless they ask for it, and all of ours do.
run_client() {
  "$@" &
  client=$!
  local result=0
  wait "$client" || result=$?
  client=
  return "$result"
}

# --- One policy -----------------------------------------------------------------------------------

recorded=() # what the live page shows of the policies before
start_server() { # POLICY NAME; sets server and target
  local url=$store
  case $store in
    rocksdb) url="rocksdb:$work/$2?sync_delay=$sync_delay" ;;
    postgres) url="$postgres_url&table=${2/-/_}" ;;
    redis) url=$redis_url/${2#run-} ;; # a database of its own
    blowfish)
      redis-cli -p "$blowfish_port" FLUSHALL >/dev/null
      url=blowfish://127.0.0.1:$blowfish_port
      ;;
  esac
  : >"$work/$2.out" # The server's own redirection may come after the first look at it.
  "$bin/docstore-server" --store "$url" --policy "$1" --listen "$listen" "${recorded[@]}" \
    --log-level warning \
    >"$work/$2.out" 2>"$work/$2.err" &
  server=$!
  target=
  for _ in {1..200}; do
    target=$(sed -n 's/^listening on //p' "$work/$2.out")
    if [[ -n $target ]]; then
      target=${target/#:/127.0.0.1:} # without a host it is every address
      return
    fi
    kill -0 "$server" 2>/dev/null || break
    sleep 0.05
  done
  die "docstore-server --policy $1 with store $(shown_store) did not start: $(<"$work/$2.err")"
}

stop_server() {
  end_child "$server"
  server=
}

import_texts() {
  mapfile -t texts < <(
    find /usr/share/common-licenses -type f 2>/dev/null
    find /usr/share/doc -type f \( -name '*.txt' -o -name 'README*' -o -name copyright \) \
      -size +1k 2>/dev/null | sort | head -n 300 || true
  )
  ((${#texts[@]})) || return 0
  run_client "$bin/docstore-import" --target "http://$target" "${texts[@]}" >"$work/import" 2>&1 ||
    die "the import failed: $(<"$work/import")"
}

offer_load() { # POLICY REPORT
  run_client "$bin/docstore-load" --target "http://$target" --label "$1" --json "$2" --stats \
    --progress \
    --steps "0s:$light,${step_seconds}s:$heavy,$((2 * step_seconds))s:$light" \
    --documents "$documents" --distribution "$distribution" --read-fraction "$read_fraction" \
    --preload --warmup 1s --connections 64 --pipeline 64 --timeout 20s >"$work/load" ||
    die "docstore-load --label $1 failed (status $?)"
}

[[ -e $out ]] || new_out=$out
mkdir -p "$out" || die "cannot make the directory $out"
reports=()
# A policy's own options have commas, too: "natural,stout:alpha=0.1,beta=0.2" is two policies.
list=()
IFS=, read -r -a words <<<"$policies"
for word in "${words[@]}"; do
  if [[ $word =~ ^[a-z_]+= ]] && ((${#list[@]})); then
    list[-1]+=,$word
  else
    list+=("$word")
  fi
done
where="$(shown_store)"
[[ $store != rocksdb ]] ||
  where="an embedded RocksDB, with $sync_delay added to each sync, as on a cloud volume"
cat <<TEXT
For each policy, the load rises from $light to $heavy requests/s and falls again, $step_seconds s each.
Store: $where.

This shows how long a write takes, from when it is due to its durable answer. A policy that batches
too little falls behind the heavy load, and a fixed interval long enough for it delays the light load.
It does not show many servers on one store, which \`adaptive\` exists for: see ./dev bench policies.

Open http://${listen/#:/127.0.0.1:}/ meanwhile: the policy that runs, over those before.

$documents documents, $distribution, reads $read_fraction. A line per second:
TEXT
case $store in
  postgres)
    chmod 711 "$work" # the server may run as another user
    start_postgres "$work/postgres" || die "no private PostgreSQL"
    ;;
  redis) start_redis "$work/redis" || die "no private Redis" ;;
  blowfish) start_blowfish "$work/blowfish" || die "no private blowfish-server" ;;
esac
for policy in "${list[@]}"; do
  echo "$policy ..."
  name=run-${#reports[@]}
  start_server "$policy" "$name"
  import_texts
  ((${#reports[@]})) || [[ ! -s $work/import ]] || echo "  imported $(head -n 1 "$work/import")"
  reports+=("$work/$name.json")
  offer_load "$policy" "${reports[-1]}"
  curl -sf -o "$work/history" "http://$target/history" || die "docstore-server has no history"
  recorded=(--page-history "$work/history")
  stop_server
  rm -rf "${work:?}/$name"
done

# --- All of them ----------------------------------------------------------------------------------

echo
"$bin/docstore-load" report "${reports[@]}" --json "$out/demo.json" --plot-data "$out/data"
echo
if command -v gnuplot >/dev/null; then
  for plot in latency throughput; do
    gnuplot -e "data='$out/data'; runs=${#reports[@]}; labels='${list[*]}'; out='$out/$plot.svg'" \
      -e "step=$step_seconds; light='$light'; heavy='$heavy'" "$here/$plot.gp"
    echo "plot:    $out/$plot.svg"
  done
else
  echo "no gnuplot here, so no plots; their data is in $out/data"
fi
echo "figures: $out/demo.json"
