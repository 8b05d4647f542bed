# shellcheck shell=bash disable=SC2034,SC2154
# To be sourced by run.sh, part `reads`: gets from three blowfish-servers with equal data. In one case
# two have layers and the third has none. In another, for comparison, all have them. In the last, all have
# them, and one has a fraction of a processor.

# shellcheck source=/dev/null
source "$here/../blowfish.sh"

reads_mib=16 reads_clients=1,4,16,32,64,128,256,512,1024,2048 reads_options=()
reads_layers=8   # all that 15 attributes have, so that the navigation adds none
reads_percent=10 # of a processor, for the member that is slow

measure_reads() {
  local fast=() i
  ((quick == 0)) || reads_mib=2 reads_clients=1,16,64 reads_options=(--warm-up 200ms --measure 500ms)
  start_bare
  for i in 1 2 3; do
    start start_blowfish "$scratch/fast$i" --copy-from "blowfish://127.0.0.1:$bare_port" \
      --memory-budget 1GiB
    order_layers "$blowfish_port" 1 "$reads_layers"
    await 60 "the layers of a member are full" layers_are_full "$blowfish_port" "$reads_layers"
    fast+=("$blowfish_port")
  done
  say "reads: $(wc -l <"$scratch/keys") keys, $rounds rounds"
  reads_case "one has no layers" '{from: 1.3}' "$bare_port" "${fast[@]:0:2}"
  reads_case "all are equal" '{from: 0.9, to: 1.1}' "${fast[@]}"
  reads_limited "${fast[@]}"
  report members-reads reads "{mib: $reads_mib, cases: map(. + {ratios: read_ratios})}" read_tables
}

# start_bare: a server without memory for layers. Sets `bare_port`, and writes its keys to a file.
start_bare() {
  say "reads: filling a member with $reads_mib MiB"
  start start_blowfish "$scratch/bare" --shards 1 --attributes "$attributes" --memory-budget 1GiB \
    --freeze-bytes 1 --merge-bytes 1
  "$bin/shard-data" --size "${reads_mib}MiB" --format keyed --out - |
    "$bin/blowfish-load" --to "127.0.0.1:$blowfish_port" --drop-key --quiet -
  await 600 "the data is compressed" compressed "$blowfish_port"
  order_layers "$blowfish_port" 1 0 # the navigation may have added some
  stop_servers
  start start_blowfish "$scratch/bare" --memory-budget 1
  bare_port=$blowfish_port
  redis-cli -p "$bare_port" --scan >"$scratch/keys"
}

# reads_limited PORT...: as reads_case, while the server that was started last has little of a processor.
reads_limited() {
  local server=$database used begin=$SECONDS
  used=$(processor_time "$server")
  start limit_processor "$server"
  reads_case "one has $reads_percent % of a processor" '{from: 1.3}' "$@"
  kill -0 "$database" 2>/dev/null || complain "cpulimit has ended: $(<"$scratch/cpulimit")" || return 1
  used=$((($(processor_time "$server") - used) / (SECONDS - begin)))
  ((used < 2 * reads_percent)) || complain "the limited member had $used % of a processor"
}

# processor_time PID: since its start, in hundredths of a second.
processor_time() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }

# limit_processor PID: from now on. cpulimit stops the process and continues it.
limit_processor() {
  cpulimit --pid "$1" --limit "$reads_percent" >"$scratch/cpulimit" 2>&1 &
  database=$!
}

# reads_case NAME AIM PORT...: adds a line of JSON with what member-reads measures over these members.
reads_case() {
  local before after members=() port
  for port in "${@:3}"; do members+=(--member "blowfish://127.0.0.1:$port"); done
  say "reads: $1"
  before=$(layers_of "${@:3}")
  "$bin/member-reads" "${members[@]}" --keys "$scratch/keys" --clients "$reads_clients" \
    --rounds "$rounds" "${reads_options[@]}" >"$scratch/case"
  after=$(layers_of "${@:3}")
  jq -cs --arg case "$1" --argjson before "$before" --argjson after "$after" \
    '{$case, aim: '"$2"', layers: {$before, $after}, runs: .}' "$scratch/case" >>"$scratch/reads.runs"
}

# layers_of PORT...: the number of layers of each member, as a list in JSON. Fails if the member without layers
# has one, or if another lacks one.
layers_of() {
  local port layers=() number
  for port in "$@"; do
    number=$(info_total "$port" shards layers)
    if [[ $port == "$bare_port" ]]; then
      ((number == 0)) || complain "the member without layers has $number layers" || return 1
    else
      layers_are_full "$port" "$reads_layers" || complain "a fast member has $number layers" || return 1
    fi
    layers+=("$number")
  done
  printf '%s\n' "${layers[@]}" | jq -cs .
}
