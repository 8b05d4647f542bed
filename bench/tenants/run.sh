#!/usr/bin/env bash
# run.sh BIN_DIR [--quick]: a popular tenant beside others, over one cache of RocksDB.
#
#   --quick  a small database and short trials: shows that all works; files go to BIN_DIR/../tenants/
#
# Then over PostgreSQL and a blowfish-server, and in a docstore-server by HTTP. Writes 2 GB to a
# directory that it removes at the end. Prints a table. Writes all figures to
# bench/results/tenants.json, the table to tenants.txt, and plots to tenants*.svg. README.md
# describes the method.
set -euo pipefail

# shellcheck source=/dev/null
source "$(dirname "$0")/../arguments.sh"
store=() trial=(--clients 40) together=200000 together_longer=1000000
other_store=(--records 50000 --cache-bytes 10MiB)
hot_documents=4000 all_documents=40000 document_cache=16MiB
shop_rate=4000 reports_rate=4000 document_seconds=10
while (($#)); do
  case $1 in
    --quick)
      results=$bin/../tenants
      store=(--records 20000 --cache-bytes 8MiB) trial=(--warm 20000 --measure-for 100ms)
      together=10000 together_longer=10000
      other_store=(--records 5000 --cache-bytes 1MiB)
      hot_documents=400 all_documents=4000 document_cache=2MiB document_seconds=1
      ;;
    -h | --help) usage && exit ;;
    *) usage >&2 && echo "bench tenants: no option '$1'" >&2 && exit 2 ;;
  esac
  shift
done
for program in jq gnuplot curl "$bin"/{tenant-bench,docstore-server,docstore-load,blowfish-server}; do
  command -v "$program" >/dev/null || { echo "bench tenants: no $program" >&2 && exit 1; }
done

# shellcheck source=/dev/null
source "$here/../../sample-apps/demo/databases.sh"
# shellcheck source=/dev/null
source "$here/docstore.sh"

scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-tenants.XXXXXX")
chmod 711 "$scratch" # PostgreSQL may run as another user
database='' server=''
clean_up() {
  exec 2>/dev/null # bash tells of each process that is killed
  for pid in $server $(jobs -p); do kill -KILL "$pid" || true; done
  [[ -z $database ]] || signal_database KILL
  wait || true
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM
say() { printf 'bench tenants, %d:%02d: %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$1" >&2; }

say 'writing the records'
"$bin/tenant-bench" --rocksdb "$scratch/db" "${store[@]}" --fill
# measure SCENARIO SIDE OPTION...
measure() {
  say "$*"
  local requests=$together
  case $1/$2 in
    # A second hot set needs longer to come in, because its reads yield.
    popular/map | popular/records | popular/s3-fifo | half-alone/*) requests=$together_longer ;;
  esac
  "$bin/tenant-bench" --rocksdb "$scratch/db" "${store[@]}" "${trial[@]}" --together "$requests" \
    --scenario "$1" --side "${@:2}" >>"$scratch/runs"
}
for scenario in alone half-alone move-alone other-alone scans-alone; do
  for side in default adaptive map records s3-fifo; do measure "$scenario" "$side"; done
done
for scenario in uniform skewed scans loop move popular; do
  for side in default adaptive s3-fifo; do measure "$scenario" "$side"; done
  for side in map records; do
    measure "$scenario" "$side" --samples "$scratch/footprint.$scenario.$side"
  done
  measure "$scenario" records --yield-pause 0
  for share in 0.1 0.01; do measure "$scenario" static --share "$share"; done
done

# The popular tenant alone and beside scans again, in turns: rates depend on the hour.
for _ in 1 2 3 4; do
  measure alone map
  measure scans records
done

# Figures 3 and 4 of the paper: the other tenant is throttled by hand.
for share in 0.95 0.65 0.35; do measure uniform static --share "$share"; done

# measure_over STORE_URL: in a map before a store with a cache of its own.
measure_over() {
  "$bin/tenant-bench" --store "$1" "${other_store[@]}" --fill
  for scenario in alone uniform scans; do
    for side in map records s3-fifo; do
      say "${1%%:*}, $scenario, $side"
      "$bin/tenant-bench" --store "$1" "${other_store[@]}" "${trial[@]}" --together "$together" \
        --scenario "$scenario" --side "$side" >>"$scratch/runs"
    done
  done
  signal_database KILL
  database=''
}
start_postgres "$scratch/postgres"
measure_over "$postgres_url"
start_blowfish "$scratch/blowfish" --shards 2
measure_over "blowfish://127.0.0.1:$blowfish_port"

open_documents
"$bin/docstore-load" --target "http://$address" --documents "$all_documents" --value-bytes 3900 \
  --preload --rate 1 --duration 100ms >/dev/null
close_documents
measure_documents map --tenant shop,share=1 --tenant reports,share=1
measure_documents records

mkdir -p "$results"
machine=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
commit=$(source_commit)
jq -s --arg commit "$commit" --arg machine "$machine" --argjson cpus "$(nproc)" \
  '{format: "stout tenant bench 1", $commit, $machine, $cpus, when: (now | todate), runs: .}' \
  "$scratch/runs" >"$results/tenants.json"
jq -rf "$here/table.jq" "$results/tenants.json" | tee "$results/tenants.txt"
jq -rf "$here/bars.jq" "$results/tenants.json" >"$scratch/bars"
gnuplot -e "data='$scratch/bars'; out='$results/tenants.svg'" "$here/tenants.gp"
jq -rf "$here/throttle.jq" "$results/tenants.json" >"$scratch/throttle"
gnuplot -e "data='$scratch/throttle'; out='$results/tenants-throttle.svg'" "$here/throttle.gp"
gnuplot -e "data='$scratch/footprint.uniform'; out='$results/tenants-footprint.svg'" "$here/footprint.gp"
say "$(cd "$results" && pwd)/tenants.json"
