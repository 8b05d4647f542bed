#!/usr/bin/env bash
# run.sh BIN_DIR [OPTION...]: reproduces the figures of the Stout paper (ATC'10).
#
#   --simulator-only  figures 1 to 6 in the simulator, about a minute
#   --stores-only     figures 1 to 4 on real stores in real time, about 14 minutes
#   --service-only    figures 1 to 4 through a router, servers and a Redis Cluster, about 20 minutes
#   --types-only      figure 6 through a router, servers and three types of store, about 17 minutes
#   --quick           less of everything, about 6 minutes in all; to BIN_DIR/../paper-quick/
#
# Pictures go to docs/results/, tables to the text there, and the raw data to bench/results/paper/, a
# line of JSON for each run.
set -euo pipefail

# shellcheck source=/dev/null
source "$(dirname "$0")/../arguments.sh"
quick='' parts=(simulator stores service types)
for option in "$@"; do
  case $option in
    --quick) quick=1 ;;
    --simulator-only | --stores-only | --service-only | --types-only)
      option=${option#--}
      parts=("${option%-only}")
      ;;
    -h | --help) usage; exit ;;
    *) echo "bench paper: no option '$option'" >&2; usage >&2; exit 2 ;;
  esac
done
for program in jq gnuplot curl "$bin/stout-sim" "$bin/policy-bench" "$bin/docstore-router"; do
  command -v "$program" >/dev/null || { echo "bench paper: no $program" >&2; exit 1; }
done

root=$(cd "$here/../.." && pwd)
pictures=$root/docs/results
results=$root/bench/results/paper
if [[ $quick ]]; then
  pictures=$(cd "$bin/.." && pwd)/paper-quick
  results=$pictures
fi
mkdir -p "$pictures" "$results"
[[ ! $quick ]] || cp "$root/docs/results/README.md" "$pictures"
scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-paper.XXXXXX")
chmod 711 "$scratch" # PostgreSQL may run as another user
trap 'rm -rf "$scratch"' EXIT
trap 'echo "bench paper: interrupted" >&2; exit 130' INT TERM

# shellcheck disable=SC2034  # several parts use them
timers=(tick:20ms tick:40ms tick:80ms tick:160ms)
# shellcheck disable=SC2034
laws=(natural stout adaptive)

# shellcheck source=/dev/null
source "$here/lib.sh"
for part in "${parts[@]}"; do
  # shellcheck source=/dev/null
  source "$here/$part.sh"
done
say "done: $pictures/README.md; runs in $results"
