# Sourced by the run.sh of a benchmark. The comment at the top of that script is its usage, and its
# first argument the directory of the programs. Sets bin, here (its directory), bench (its name) and
# results.
# shellcheck shell=bash disable=SC2034,SC2154

usage() { sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//; p}' "$0"; }

if (($# == 0)) || [[ $1 == -* ]]; then
  usage >&2
  exit 2
fi
bin=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
bench=${here##*/}
results=$here/../results

# say TEXT: progress, with the time since the beginning.
say() { printf 'bench %s, %d:%02d: %s\n' "$bench" $((SECONDS / 60)) $((SECONDS % 60)) "$1" >&2; }

# source_commit: prints the commit of the sources, with -dirty if they have changed since. Results of
# benchmarks are no sources: a run changes them itself.
source_commit() {
  local commit dirty=''
  commit=$(git -C "$here" describe --always 2>/dev/null) || return 0
  git -C "$here" diff --quiet HEAD -- ':(top)' ':(top,exclude)bench/results' ':(top,exclude)docs/results' ||
    dirty=-dirty
  echo "$commit$dirty"
}

# stop_database: if there is one.
stop_database() {
  [[ -z $database ]] || kill "$database" 2>/dev/null || true
  [[ -z $database ]] || wait "$database" 2>/dev/null || true
  database=''
}

# await_address FILE PID: until the process has written to the file on which address it listens; sets
# `address`. Fails if the process ends first, or after 20 s. Create the file before the process.
await_address() {
  for _ in {1..400}; do
    address=$(sed -n 's/^listening on //p' "$1")
    [[ -z $address ]] || return 0
    kill -0 "$2" 2>/dev/null || return 1
    sleep 0.05
  done
  return 1
}
