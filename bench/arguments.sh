# Sourced by the run.sh of a benchmark. The comment at the top of that script is its usage, and its
# first argument the directory of the programs. Sets bin, here (its directory) and results.

usage() { sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//; p}' "$0"; }

if (($# == 0)) || [[ $1 == -* ]]; then
  usage >&2
  exit 2
fi
bin=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
results=$here/../results
