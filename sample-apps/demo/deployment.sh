# shellcheck shell=bash disable=SC2034,SC2154
# To be sourced by demos of several nodes: their options, their nodes, and the end of all that they
# started. Needs a function `usage`.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
source "$here/databases.sh"

die() {
  echo "demo: $*" >&2
  exit "${status:-1}"
}

# begin_demo NAME "OPTION=MAXIMUM..." "PROGRAM..." ARGUMENT...: reads the arguments of a demo: the
# directory `bin` of the programs, and options. The value of an option, a whole number except for
# --out, goes to the variable of its name. Ends the script after --help, and if `bin` is --check.
# Makes the directories `work`, which is removed at the end, and `out`.
begin_demo() {
  local demo=$1 options=$2 programs=$3 option maximum program
  shift 3
  [[ ${1-} == --help || ${1-} == -h ]] && usage && exit 0
  (($#)) || status=2 die "the directory of the programs is missing; run ./dev demo $demo"
  bin=$1
  shift
  while (($#)); do
    [[ $1 == --help || $1 == -h ]] && usage && exit 0
    option=${1#--}
    [[ $1 == --* && " $options out= " =~ " $option="([0-9]*)" " ]] ||
      status=2 die "unknown option '$1'; see --help"
    maximum=${BASH_REMATCH[1]}
    (($# > 1)) || status=2 die "$1 needs a value"
    [[ ! $maximum ]] || { [[ $2 =~ ^[1-9][0-9]{0,8}$ ]] && (($2 <= maximum)); } ||
      status=2 die "$1 needs a whole number from 1 to $maximum"
    printf -v "${option//-/_}" %s "$2"
    shift 2
  done
  [[ $out ]] || status=2 die "--out needs a directory"
  [[ $bin != --check ]] || exit 0
  for program in $programs; do
    [[ -x $bin/$program ]] ||
      die "$bin/$program is missing; run ./dev demo $demo, which builds it"
  done
  work=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-demo.XXXXXX") # on a disk: /tmp is often memory
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  trap 'exit 129' HUP
  [[ -e $out ]] || new_out=$out
  mkdir -p "$out" || die "cannot make the directory $out"
  out=$(cd "$out" && pwd)
}

# --- Nothing stays behind: every child is known by its id and ended, its files removed ------------

loads=()
nodes=()
ports=()
declare -A others=() # etcd and databases, by name
new_out=

clean_up() {
  local pid
  trap '' INT TERM HUP
  for pid in "${loads[@]}"; do end_child "$pid"; done
  for pid in "${nodes[@]}"; do
    while kill -KILL "$pid" 2>/dev/null; do sleep 0.05; done
  done
  # The last one may be in no list yet.
  for pid in "${others[@]}" "${database-}"; do end_child "$pid"; done
  rm -rf "$work"
  [[ -z $new_out ]] || rmdir "$new_out" 2>/dev/null || true # unless it has results
}

# --- The deployment -------------------------------------------------------------------------------

# start_other NAME COMMAND...: a database or etcd.
start_other() {
  "${@:2}" 3>&- || die "no private $1"
  others[$1]=$database
}

member_timeout=1s
reply_deadline=2500ms
# start_node INDEX DATALET OPTION...: a new one, or again what is there, on its old port.
start_node() {
  start_member_node "$work/node$1" "$2" --join "etcd://$etcd_address/demo" --lease-ttl 3s \
    --member-timeout "$member_timeout" --reply-deadline "$reply_deadline" "${@:3}" 3>&- ||
    die "a node did not start"
  nodes[$1]=$database ports[$1]=$node_port
  disown # the shell does not report that it was killed
}

# ask WORDS...: a command to a node that runs all the time.
ask() {
  local reply
  reply=$(redis-cli -p "${ports[0]}" "$@" 2>&1) || true
  [[ $reply == OK* ]] || die "$*: $reply"
}

# draw NAME: the plot of the results.
draw() {
  if command -v gnuplot >/dev/null; then
    gnuplot -e "data='$out'; out='$out/$1.svg'" "$here/$1.gp"
    echo "plot:    $out/$1.svg"
  else
    echo "no gnuplot here, so no plot; its data is in $out"
  fi
}
