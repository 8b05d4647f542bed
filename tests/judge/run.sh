#!/usr/bin/env bash
# Runs the outside judges: programs of other projects that know nothing of ours. See tests/judge/README.md.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: ./dev judge [OPTIONS] [NAME...]
  NAME         run this judge only; by default all of --list
  --server S   run the judges of this server only: blowfish, docstore, node, members or miniredis
  --list       list the judges of each server, and end
  --self-test  judge a server that loses writes: each client's judge must fail. Porcupine must call
               doctored histories illegal
Judges are fetched from the registries of their languages, in the versions of the lock files, to
build/judge/. Needed: go 1.26; node 18 and npm; a JDK 17 and mvn; tclsh and dpkg-dev; curl, python3
and redis-tools; etcd (etcd-server) for --server members.
Each judge prints one line: pass, fail, or unreachable (it could not be fetched, built or started).
The log of a judge is build/judge/logs/NAME-SERVER.log.
Exit status: 0 if all pass.
TEXT
}

die() {
  echo "./dev judge: $*" >&2
  exit 2
}

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
here=$PWD/tests/judge
# shellcheck source=/dev/null
source "$here/judges.sh"

# The table of servers: the judges of each, and what it can do beyond plain keys and values. A server also
# needs its command in server.sh and, if `tcl` judges it, a list of skipped tests in tcl/.
servers=(blowfish docstore node members miniredis)
declare -A judges_of=(
  [blowfish]="node-redis ioredis go-redis jedis go-ycsb porcupine tcl"
  [docstore]="porcupine"
  [node]="node-redis ioredis go-redis jedis go-ycsb porcupine tcl"
  [members]="go-ycsb porcupine"
  [miniredis]="go-ycsb porcupine"
  [lossy]="node-redis ioredis go-redis jedis go-ycsb porcupine"
)
# Words: transactions, expiry, incr.
declare -A abilities_of=(
  [blowfish]="" [docstore]="" [node]="transactions expiry incr" [members]="" [miniredis]="" [lossy]="")
declare -A protocol_of=([docstore]=http)

list() {
  local server
  for server in "${servers[@]}"; do
    printf '%-10s %s\n' "$server" "${judges_of[$server]}"
  done
}

bin=$PWD/build/release/bin only='' self_test='' names=()
while (($#)); do
  case $1 in
    --help | -h) usage && exit ;;
    --list) list && exit ;;
    --self-test) self_test=1 && shift ;;
    --server)
      only=${2:?"./dev judge: --server needs a name"}
      shift 2
      [[ " ${servers[*]} " == *" $only "* ]] || die "no server '$only'; there are: ${servers[*]}"
      ;;
    -*) die "no option $1; see --help" ;;
    *)
      [[ " ${judges_of[*]} " == *" $1 "* ]] || die "no judge '$1'; see ./dev judge --list"
      names+=("$1")
      shift
      ;;
  esac
done
[[ -x $bin/blowfish-server && -x $bin/docstore-server && -x $bin/stout-node ]] ||
  die "the programs are missing in build/release/bin: run ./dev build"

export judge_home=$PWD/build/judge
logs=$judge_home/logs
mkdir -p "$logs"
temporary=$(mktemp -d "${TMPDIR:-/tmp}/stout-judge.XXXXXX")
job=
clean_up() {
  # A job has its own process group: with it go the judge, the server, and what these started.
  [[ -z $job ]] || { kill -KILL -- "-$job" && wait "$job"; } 2>/dev/null || true
  rm -rf "$temporary"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# judge NAME SERVER: prepares and runs it. The status is 0: pass, 3: unreachable, other: fail.
judge() {
  local name=$1 server=$2 directory=$temporary/$2-$1 status=0
  echo "$name on $server, $(date)"
  prepare "$name" || return 3
  [[ $server != miniredis ]] || prepare miniredis || return 3
  "$here/server.sh" start "$server" "$directory" "$bin" || return 3
  export JUDGE_PORT JUDGE_ABILITIES=${abilities_of[$server]} JUDGE_PROTOCOL=${protocol_of[$server]-resp}
  # The clients' writes have half a second before the kill.
  export JUDGE_RESTART="sleep 0.5; '$here/server.sh' restart $server '$directory' '$bin'"
  export JUDGE_SKIP=$here/tcl/skip-$server.txt
  JUDGE_PORT=$(<"$directory/port")
  (cd "$judge_home/work/$name" && run "$name") || status=1
  "$here/server.sh" stop "$server" "$directory" "$bin" || status=1
  ((status == 0)) || sed 's/^/server: /' "$directory/server.log"
  return "$status"
}

# report NAME SERVER STATUS SECONDS: prints the line of a judge.
report() {
  local verdict=fail log=build/judge/logs/$1-$2.log more=''
  case $3 in
    0) verdict=pass ;;
    3) verdict=unreachable more=": $(grep -v '^ *$' "$log" | tail -n 1)" ;;
  esac
  [[ $verdict == pass ]] || more+=" (see $log)"
  printf '%-11s %s on %s, %s s%s\n' "$verdict" "$1" "$2" "$4" "$more"
}

# run_one NAME SERVER: sets `status`.
run_one() {
  local since=$SECONDS
  status=0
  set -m
  judge "$1" "$2" >"$logs/$1-$2.log" 2>&1 </dev/null &
  job=$!
  set +m
  wait "$job" || status=$?
  kill -KILL -- "-$job" 2>/dev/null || true
  job=
  report "$1" "$2" "$status" "$((SECONDS - since))"
}

wanted() { # NAME SERVER
  [[ -z $only || $only == "$2" ]] && { ((${#names[@]} == 0)) || [[ " ${names[*]} " == *" $1 "* ]]; }
}

bad=0 ran=0
if [[ -n $self_test ]]; then
  servers=(lossy) only=''
  echo "self-test: each judge must fail, because its server loses writes"
fi
for server in "${servers[@]}"; do
  for name in ${judges_of[$server]}; do
    wanted "$name" "$server" || continue
    run_one "$name" "$server"
    ran=$((ran + 1))
    if [[ -n $self_test ]]; then
      ((status != 0 && status != 3)) || bad=$((bad + 1))
    else
      ((status == 0)) || bad=$((bad + 1))
    fi
  done
done
if [[ -n $self_test ]]; then
  doctored "$logs/doctored.log" || bad=$((bad + 1))
fi
((ran > 0)) || die "no judge of this name judges this server; see --list"
if ((bad > 0)); then
  echo "$bad of $ran not as they must be"
  exit 1
fi
echo "all $ran as they must be"
