#!/usr/bin/env bash
# Runs Redis's own tools, and its client in another language, against blowfish-server. These judges
# know nothing of it. usage: redis_tools_test.sh BIN_DIR
set -euo pipefail

bin=$1
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=/dev/null
source "$here/../../sample-apps/demo/databases.sh"

die() {
  echo "redis_tools_test: $*" >&2
  exit 1
}

work=$(mktemp -d "${TMPDIR:-/tmp}/stout-tools.XXXXXX")
database=
clean_up() {
  [[ -z $database ]] || { kill "$database" && wait "$database"; } 2>/dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT
start_blowfish "$work" --shards 3 --attributes name,city || die "no private blowfish-server"
cli() { redis-cli -p "$blowfish_port" -e "$@"; }

# expect TEXT COMMAND...
expect() {
  local got
  got=$(cli "${@:2}") || die "${*:2}: $got"
  [[ $got == "$1" ]] || die "${*:2}: '$got', not '$1'"
}
expect OK MSET ann 'ann|rome' bob 'bob|oslo' cyd 'cyd|rome'
[[ $(cli SEARCH city rome LIMIT 10 | sort) == $'ann\ncyd' ]] || die "SEARCH"
expect oslo GETATTR bob city
expect bob GREP os
[[ $(cli --scan --pattern '*' | sort) == $'ann\nbob\ncyd' ]] || die "--scan misses keys"
[[ $(cli --bigkeys 2>&1) == *"3 strings"* ]] || die "--bigkeys does not find three strings"
[[ $(cli -3 HELLO 3) == *blowfish* ]] || die "no RESP3"
for command in CLIENT COMMAND CONFIG; do
  [[ $(cli "$command" HELP) == "$command <subcommand>"*HELP* ]] || die "$command HELP"
done
[[ $(cli INFO commandstats) == *cmdstat_getattr:calls=1,* ]] || die "INFO commandstats"
seq 1 1000 | sed 's/.*/SET key& value&/' | cli --pipe | grep -q 'errors: 0, replies: 1000' ||
  die "--pipe failed"
expect 1003 DBSIZE

for pipeline in 1 16; do
  redis-benchmark -p "$blowfish_port" -t ping,set,get,mset -n 5000 -c 20 -P "$pipeline" -r 1000 \
    --csv >"$work/benchmark" 2>&1 || die "redis-benchmark: $(<"$work/benchmark")"
  ! grep -qi error "$work/benchmark" || die "redis-benchmark: $(<"$work/benchmark")"
  (($(grep -c '^"' "$work/benchmark") >= 5)) || die "redis-benchmark: $(<"$work/benchmark")"
done

/usr/bin/python3 "$here/redis_py_test.py" "$blowfish_port"

cli SHUTDOWN >/dev/null 2>&1 || true
wait "$database" || die "blowfish-server ended with $?"
database=
echo "redis_tools_test: redis-cli, redis-benchmark and redis-py are content"
