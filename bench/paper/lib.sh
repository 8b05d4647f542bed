# Functions for all parts of run.sh, which sources it and sets here, scratch, pictures and results.
# shellcheck shell=bash disable=SC2154

# keep RUNS FILTER: what stout-sim or policy-bench wrote to $scratch/json becomes a file of runs, by
# a filter of paper.jq.
keep() {
  jq -c -L "$here" "include \"paper\"; $2" "$scratch/json" >"$scratch/runs"
  mv "$scratch/runs" "$results/$1.jsonl"
}

# panel CALL TITLE RUNS POLICY...: what a function of paper.jq makes of them.
panel() {
  jq -rs -L "$here" --arg title "$2" \
    "include \"paper\"; \$ARGS.positional as \$policies | $1" "$results/$3.jsonl" --args "${@:4}"
}

# figure KIND NAME CAPTION SETTINGS PANEL...: a picture, and its tables in the text. KIND is a
# script for gnuplot and has its functions in paper.jq; SETTINGS are of that script; a panel is
# written "TITLE|RUNS|POLICY...".
figure() {
  local kind=$1 name=$2 caption=$3 settings=$4 number=0 data="" titles="" policies=""
  local spec title runs words argv
  local text=$scratch/text
  : >"$text"
  : >"$text.notes"
  for spec in "${@:5}"; do
    IFS='|' read -r title runs words <<<"$spec"
    read -ra argv <<<"$words"
    number=$((number + 1))
    set -- "$title" "$runs" "${argv[@]}"
    panel "${kind}_data(\$policies)" "$@" >"$scratch/$number.dat"
    panel "${kind}_table(\$title; \$policies)" "$@" >>"$text"
    echo >>"$text"
    panel "${kind}_note(\$title; \$policies)" "$@" >>"$text.notes"
    data+="$scratch/$number.dat "
    titles+="'$title' "
    policies+="'$words' "
  done
  gnuplot -e "styles='$here/style.gp'; out='$pictures/$name.svg'; caption='$caption'; $settings" \
    -e "data=\"$data\"; titles=\"$titles\"; policies=\"$policies\"" "$here/$kind.gp"
  insert "$name" "$text" "$text.notes"
}

# insert NAME FILE...: into the text, in place of what was there.
insert() {
  awk -v begin="<!-- $1: made by run.sh -->" -v files="${*:2}" '
    $0 == begin {
      inside = 1
      print
      n = split(files, file, " ")
      for (i = 1; i <= n; ++i) while ((getline line <file[i]) > 0) print line
    }
    $0 == "<!-- end -->" { inside = 0 }
    !inside' "$pictures/README.md" >"$scratch/README.md"
  cp "$scratch/README.md" "$pictures/README.md"
}
