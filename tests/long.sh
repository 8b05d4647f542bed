#!/usr/bin/env bash
# The full form of each check that CI runs in a short form: 10,000 seeds, faults on real processes,
# soaks. Needs the presets unsanitized and asan; `./dev test long` builds them first.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: long.sh UNSANITIZED_BIN ASAN_BIN [NAME...]
Runs all checks, or those that are named, two at a time. Their output is in long-tests/ beside
UNSANITIZED_BIN; of a check that fails the last lines are shown.
Exit status: 0 if all passed.
TEXT
  echo "checks:"
  printf '  %s\n' "${names[@]}"
}

names=() # in the order in which they run
declare -A commands=()
check() { # NAME COMMAND...
  names+=("$1")
  commands[$1]="${*:2}"
}

fast=${1-} asan=${2-}
here=$(cd "$(dirname "$0")" && pwd)
crash="$here/integration/crash_test.sh $fast --rounds"
check crash-rocksdb "$crash 200"
check crash-postgres "$crash 40 --store postgres --fault store,pause,server,delay,throttle,cut,swallow,ghost"
check crash-redis "$crash 40 --store redis --fault store,pause,server,delay,throttle,cut,swallow,ghost"
check crash-shards "env STOUT_CRASH_ROUNDS=200 $asan/blowfish_server_test kill*"
check damage-shards "env STOUT_DAMAGE_ROUNDS=3000 $asan/blowfish_store_test *damaged*"
check seeds-worlds "$fast/world_test --seeds 10000 --first 10000"
check seeds-leases "env STOUT_SEEDS=10000 $asan/property_test [leases]"
check seeds-policies "env STOUT_SEEDS=10000 $asan/property_test [policy]"
check seeds-log "env STOUT_SEEDS=10000 $asan/blowfish_log_test *crashes*"
check seeds-counts "env STOUT_SEARCH_ROUNDS=1000 $asan/blowfish_store_test *count*"

if [[ $fast == --help || $asan == "" ]]; then
  usage
  [[ $fast == --help ]] && exit 0 || exit 2
fi
shift 2
(($#)) && names=("$@")
for name in "${names[@]}"; do
  [[ -n ${commands[$name]-} ]] || { echo "long.sh: no check '$name'; see --help" >&2 && exit 2; }
done

logs=$(dirname "$fast")/long-tests
mkdir -p "$logs"
failed=$logs/failed
rm -f "$failed"
trap 'trap - TERM; kill 0' INT TERM

run() { # NAME
  local log=$logs/$1.log start=$SECONDS result=passed
  set -f # patterns are for the tests
  # shellcheck disable=SC2086
  ${commands[$1]} >"$log" 2>&1 || result=FAILED
  echo "$1: $result, $((SECONDS - start)) s; $log"
  [[ $result == passed ]] || { tail -n 20 "$log" && echo "$1" >>"$failed"; }
}

running=0
for name in "${names[@]}"; do
  ((running < 2)) || { wait -n || true; ((--running)) || true; }
  run "$name" &
  ((++running))
done
wait
[[ ! -e $failed ]] || { echo "long.sh: failed: $(tr '\n' ' ' <"$failed")" >&2 && exit 1; }
echo "long.sh: all ${#names[@]} checks passed"
