# The server while its load changes: figures 9 and 12 of the BlowFish paper, and shards that share a
# budget. Sourced by run.sh, which sets bin, here, results, pictures, scratch, quick, commit, machine.
# shellcheck shell=bash disable=SC2154

# shellcheck source=/dev/null
source "$here/../blowfish.sh"

raw_bytes=$((64 << 20)) calibration=10s slice=500ms
before=20 spike=60 after=40  # seconds of figure 9
step=30                      # of each step of figure 12, and of seven times the load
turn=30                      # in which one shard is the hottest
set_count=1000000            # beside redis-server
if [[ $quick ]]; then
  raw_bytes=$((4 << 20)) calibration=2s slice=250ms
  before=3 spike=8 after=4 step=4 turn=6 set_count=100000
fi
plenty=$((raw_bytes * 8))  # of memory: more than all layers take
distributions=(uniform zipf:0.99)

# serve NAME BUDGET [OPTION...]: the server of a directory, without the layers that it had before.
serve() {
  stop_database
  rm -f "$scratch/$1"/data/*/layers
  apart start_blowfish "$scratch/$1" --memory-budget "$2" "${@:3}"
}

# total FIGURE: over all shards.
total() { info_total "$blowfish_port" shards "$1"; }

# keyed PORT [OPTION...]: puts the records into a server. Options are shard-data's.
keyed() {
  "$bin/shard-data" --size "$raw_bytes" --format keyed --out - "${@:2}" 2>"$scratch/errors" |
    "$bin/blowfish-load" --to "127.0.0.1:$1" --drop-key --quiet - ||
    { cat "$scratch/errors" >&2 && return 1; }
}

# fill NAME SHARDS [OPTION...]: a directory with all records, all of them compressed. Options are
# shard-data's.
fill() {
  say "filling a server of $2 shards"
  serve "$1" "$plenty" --shards "$2" --attributes "$attributes" --freeze-bytes 1 --merge-bytes 1
  keyed "$blowfish_port" "${@:3}"
  until compressed "$blowfish_port"; do
    kill -0 "$database" 2>/dev/null || { echo "bench shard: the server ended" >&2 && return 1; }
    sleep 0.2
  done
}

# offer CSV OPTION...: load; its summary is in $scratch/summary.
offer() {
  "$bin/shard-load" --to "127.0.0.1:$blowfish_port" --size "$raw_bytes" --csv "$1" \
    --json "$scratch/summary" --slice "$slice" --most-under-way 1000000 "${@:2}"
}

# measure_capacity NAME OPTION...: sets `capacity`, in requests per second: what a server that may
# have no layers answers in a closed loop.
measure_capacity() {
  serve "$1" 1
  offer /dev/null --closed "$calibration" "${@:2}" 2>"$scratch/errors" ||
    { cat "$scratch/errors" >&2 && return 1; }
  capacity=$(jq '.answered_per_s | round' "$scratch/summary")
}

# percent N: of the capacity.
percent() { echo $((capacity * $1 / 100)); }

# run NAME SERVER BUDGET PHASES OPTION...: one run; its lines go to NAME.csv, a line about it to
# runs.json. PHASES are words RATE:SECONDS.
run() {
  local name=$1 server=$2 budget=$3 phases=$4 phase options=()
  shift 4
  for phase in $phases; do options+=(--phase "$phase"); done
  say "$name: $phases, where $capacity/s is what a server without layers can"
  serve "$server" "$budget"
  offer "$results/shard/$name.csv" "${options[@]}" "$@"
  table "$name" "$phases"
  jq -c --arg name "$name" --arg phases "$phases" --arg commit "$commit" --arg machine "$machine" \
    --argjson budget "$budget" --argjson capacity "$capacity" --argjson raw "$raw_bytes" \
    '{name: $name, phases: $phases, options: $ARGS.positional, capacity_per_s: $capacity,
      raw_bytes: $raw, budget_bytes: $budget, commit: $commit, machine: $machine} + .' \
    "$scratch/summary" --args -- "$@" >>"$scratch/runs"
}

# table NAME PHASES: what came of each phase. A load is followed from when at most a quarter of a
# second of it is under way for good.
table() {
  awk -F, -v name="$1" -v phases="$2" -v raw="$raw_bytes" '
    function flush(   i, followed) {
      followed = "never"
      at[0] = begin
      for (i = rows; i > 0 && waiting[i] <= due[i] / 4; --i) followed = sprintf("%.1f", at[i - 1] - begin)
      printf "%10.0f %10.0f %10.2f %10d %10s %7d %8.3f\n", offered / rows, answered / rows,
        latency, most, followed, layers, bytes / raw
      rows = offered = answered = most = 0
      begin = end
      end += length_of[++phase]
    }
    NR == 1 {
      for (i = 1; i <= NF; ++i) column[$i] = i
      count = split(phases, all, " ")
      for (i = 1; i <= count; ++i) {
        split(all[i], parts, ":")
        length_of[i] = parts[2]
      }
      end = length_of[phase = 1]
      printf "%s\n%10s %10s %10s %10s %10s %7s %8s\n", name, "offered/s", "answered/s", "p99 ms, end",
        "waiting", "followed s", "layers", "of raw"
      next
    }
    phase <= count && $column["time_s"] > end + 0.05 && rows { flush() }
    phase > count { next }
    {
      ++rows
      at[rows] = $column["time_s"]
      due[rows] = $column["offered_per_s"]
      waiting[rows] = $column["under_way"]
      offered += due[rows]
      answered += $column["answered_per_s"]
      if (waiting[rows] > most) most = waiting[rows]
      if ($column["p99_ms"] != "") latency = $column["p99_ms"]
      if ($column["layers"] != "") {
        layers = $column["layers"]
        bytes = $column["compressed_bytes"] + $column["layer_bytes"]
      }
    }
    END { if (rows && phase <= count) flush() }' "$results/shard/$1.csv"
}

# picture KIND NAME CAPTION SETTINGS: by a script for gnuplot.
picture() {
  gnuplot -e "out='$pictures/shard-$2.svg'; caption='$3'; raw=$raw_bytes; $4" "$here/$1.gp"
}

# columns NAME: of a picture: a run for each distribution.
columns() {
  local distribution data='' titles=''
  for distribution in "${distributions[@]}"; do
    data+="$results/shard/$1-${distribution%%:*}.csv "
    titles+="'keys and values: $distribution' "
  done
  echo "data=\"$data\"; titles=\"$titles\""
}

# The paper has 600 requests a second where 800 can be answered, and 1800 for an hour.
spike_phases() { echo "$(percent 75):$before $(percent 225):$spike $(percent 75):$after"; }

# Seven times as much, and no more than a shard with layers can answer beside its load generator.
steep_phases() { echo "$(percent 40):$step $(percent 280):$step $(percent 40):$step"; }

# 600 to 2000 by 350 each half an hour.
gradual_phases() {
  local share phases=''
  for share in 75 119 162 206 250; do phases+="$(percent $share):$step "; done
  echo "${phases% }"
}

changing_load() {
  local distribution
  fill one 1
  for distribution in "${distributions[@]}"; do
    measure_capacity one --distribution "$distribution"
    run "spike-${distribution%%:*}" one "$plenty" "$(spike_phases)" --distribution "$distribution"
    run "steep-${distribution%%:*}" one "$plenty" "$(steep_phases)" --distribution "$distribution"
    run "gradual-${distribution%%:*}" one "$plenty" "$(gradual_phases)" --distribution "$distribution"
  done
  picture timeline spike 'BlowFish figure 9: three times the load, gets and searches, one shard' \
    "$(columns spike)"
  picture timeline steep 'Seven times the load, gets and searches, one shard' "$(columns steep)"
  picture timeline gradual 'BlowFish figure 12: ever more load, gets and searches, one shard' \
    "$(columns gradual)"
}

# Three shards, each for a while the hottest, and memory for the layer that one of them needs then. A
# search asks all shards; so that one of them has most of the work, it has all that is found.
sharing() {
  local placed=(--placed-by partkey:3) budget
  local skew=("${placed[@]}" --operations search --class partkey --shard-skew zipf:3)
  fill three 3 "${placed[@]}"
  # Without layers it tells what the first one takes while it is being filled, somewhat more than then.
  serve three 1
  budget=$(($(total compressed_bytes) + $(total next_layer_bytes) / 2))
  measure_capacity three "${skew[@]}"
  run sharing three "$budget" "$(percent 100):$((3 * turn))" "${skew[@]}" --turn "${turn}s"
  picture sharing sharing 'Three shards share memory for a layer of one; most searches are of one shard' \
    "data='$results/shard/sharing.csv'; shards=3; turn=$turn; budget=$budget"
}
