# shellcheck shell=bash
# To be sourced with a measurement's arguments: BIN_DIR. Sets `bin` and `scratch`, brings the private
# databases of databases.sh and the network of network_faults.sh, and ends all that it started.

bin=$(cd "${1:?"the directory of the programs is missing"}" && pwd)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=/dev/null
source "$root/sample-apps/demo/databases.sh"
# shellcheck source=/dev/null
source "$root/tests/integration/network_faults.sh"

scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-faults.XXXXXX") # on a disk: /tmp is often memory
chmod 711 "$scratch" # PostgreSQL may run as another user
database=
servers=()
clean_up() {
  exec 2>/dev/null # bash tells of each process that is killed
  local pid
  for pid in "${servers[@]}" ${network_PID-} $(jobs -p); do kill -KILL "$pid" 2>/dev/null || true; done
  [[ -z $database ]] || signal_database KILL
  wait 2>/dev/null || true
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

now() { echo "$EPOCHREALTIME"; }

# since TIME: seconds.
since() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.3f", b - a }'; }

# median NUMBER...
median() { printf '%s\n' "$@" | sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }

# report WHAT VALUE UNIT: one line of JSON, which run.sh collects.
report() { jq -cn --arg what "$1" --argjson value "$2" --arg unit "$3" '$ARGS.named'; }

# seconds_until LIMIT COMMAND...: how long it takes until the command succeeds. Prints LIMIT and fails
# if it does not.
seconds_until() {
  local start
  start=$(now)
  while ! "${@:2}"; do
    if awk -v a="$(since "$start")" -v b="$1" 'BEGIN { exit a < b }'; then
      echo "not within $1 s: ${*:2}" >&2
      echo "$1"
      return 1
    fi
    sleep 0.1
  done
  since "$start"
}

# start_docstore OPTION...: a docstore-server; sets `address`, and adds its process to `servers`.
start_docstore() {
  local log=$scratch/docstore${#servers[@]}
  : >"$log.out"
  "$bin/docstore-server" --listen 127.0.0.1:0 "$@" >"$log.out" 2>"$log.err" &
  servers+=($!)
  for _ in {1..200}; do
    address=$(sed -n 's/^listening on //p' "$log.out")
    [[ -z $address ]] || return 0
    sleep 0.05
  done
  cat "$log.err" >&2
  return 1
}

# status OPTION...: of an HTTP request; 000 if none came within 2 s.
status() { curl -s -o "$scratch/answer" -m 2 -w '%{http_code}' "$@" || true; }

# put ADDRESS DOCUMENT: whether a write is acknowledged.
put() { [[ $(status -X PUT --data x "http://$1/docs/$2/sections/s") == 2* ]]; }
