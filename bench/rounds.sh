# shellcheck shell=bash disable=SC2154
# Sourced by the run.sh of benchmarks whose sides take turns, after arguments.sh. Round 0 warms up, and
# nothing of it is kept.

round=0

# in_turns COMMAND... -- SIDE...: runs COMMAND SIDE for each, in every second round backwards.
in_turns() {
  local command=() sides side
  while [[ $1 != -- ]]; do command+=("$1") && shift; done
  shift
  mapfile -t sides < <(printf '%s\n' "$@" | if ((round % 2)); then tac; else cat; fi)
  for side in "${sides[@]}"; do "${command[@]}" "$side"; done
}

# measure PART CASE SIDE OPTION...: runs member-bench and keeps what it prints.
measure() {
  local found before
  before=$(cpu_ticks)
  found=$("$bin/member-bench" "${@:4}" 2>"$scratch/errors") ||
    { echo "bench $bench: $2, $3: $(tail -n 3 "$scratch/errors")" >&2 && return 1; }
  ((round == 0)) || jq -c --arg part "$1" --arg case "$2" --arg side "$3" --argjson round "$round" \
    --argjson before "$before" --argjson after "$(cpu_ticks)" --argjson hertz "$(getconf CLK_TCK)" \
    '. as $run | {$part, $case, $side, $round} + .
     + {cpu_us: ($after | with_entries(.value = (.value - $before[.key]) / $hertz * 1e6 / $run.answered))}' \
    <<<"$found" >>"$scratch/side.runs"
}

# cpu_ticks: processor time of the servers by the names of their programs, and of clients that have ended.
cpu_ticks() {
  local stats=("${processes[@]/#//proc/}")
  awk -v shell=$$ '{ if ($1 == shell) ticks["clients"] += $16 + $17
                     else ticks[substr($2, 2, length($2) - 2)] += $14 + $15 }
    END { for (name in ticks) printf "%s\"%s\":%d", (n++ ? "," : "{"), name, ticks[name]; print "}" }' \
    /proc/$$/stat "${stats[@]/%//stat}"
}

# report NAME RUNS FIGURES TABLES: writes NAME.json, and NAME.txt, by functions of the jq `modules`.
report() {
  local machine commit libraries=(-L "$here" -L "$here/../stores") include
  machine=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
  commit=$(source_commit)
  include=$(printf 'include "%s"; ' "${modules[@]}")
  jq -s "${libraries[@]}" --arg format "stout ${bench%s} bench 1" --arg commit "$commit" \
    --arg machine "$machine" --argjson cpus "$(nproc)" \
    "$include"'{$format, $commit, $machine, $cpus, when: (now | todate)} + '"($3)" \
    "$scratch/$2.runs" >"$results/$1.json"
  jq -r "${libraries[@]}" "$include$4" "$results/$1.json" | tee "$results/$1.txt"
  say "$(cd "$results" && pwd)/$1.json"
}
