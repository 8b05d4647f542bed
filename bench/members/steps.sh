# shellcheck shell=bash disable=SC2034,SC2154
# To be sourced by run.sh, part `steps`: figure 10 of the BlowFish paper. Three blowfish-servers
# have the same files, and the load rises in steps. The third server has no memory for layers. A
# control group limits each of them to the same share of a processor, which needs root.

# shellcheck source=/dev/null
source "$here/../blowfish.sh"

steps_mib=64 steps_seconds=10 steps_clients=3000
steps_loads=(50 80 110 140 170 200) # percent of what the three carry without layers
steps_percent=5                     # of a processor, for each server
steps_period_us=20000               # in which a server has its share
groups=()

# open_group NAME: a control group with this share of a processor; sets `group`.
open_group() {
  local parent=/sys/fs/cgroup/cpu quota=$((steps_period_us * steps_percent / 100))
  [[ -d $parent ]] || parent=/sys/fs/cgroup
  group=$parent/stout-bench-$$-$1
  mkdir "$group" || complain "no new group in $parent: be root, outside of a container" || return 1
  groups+=("$group")
  if [[ $parent == */cpu ]]; then
    echo "$steps_period_us" >"$group/cpu.cfs_period_us" && echo "$quota" >"$group/cpu.cfs_quota_us"
  else
    echo "$quota $steps_period_us" >"$group/cpu.max"
  fi || complain "$group takes no limit of processors"
}

# stop_replicas: and their groups, which can be removed once no process is in them.
stop_replicas() {
  stop_servers
  ((${#groups[@]} == 0)) || rmdir "${groups[@]}" || true
  groups=()
}

# probe_group: a wrong user is noticed before the data is made.
probe_group() {
  local group
  open_group probe
  rmdir "$group"
  groups=()
}

# fill_replicas: three directories with the same files, without layers. A merge keeps texts without
# spaces in blocks. Layers make gets from blocks faster, also gets that wait together.
fill_replicas() {
  local i first
  say "steps: filling three servers with $steps_mib MiB"
  start start_blowfish "$scratch/replica1" --shards 1 --memory-budget 1GiB --freeze-bytes 1 \
    --merge-bytes 1
  first=$blowfish_port
  "$bin/shard-data" --kind texts --size "${steps_mib}MiB" --format tbl --out - 2>"$scratch/errors" |
    tr -d ' \n' | fold -b -w 400 | awk '{ print NR "|" $0 }' |
    "$bin/blowfish-load" --to "127.0.0.1:$first" --drop-key --quiet -
  await 600 "the data is compressed" compressed "$first"
  order_layers "$first" 1 0 # the navigation may have added some
  for i in 2 3; do
    start start_blowfish "$scratch/replica$i" --memory-budget 1 \
      --copy-from "blowfish://127.0.0.1:$first"
    await 600 "the data is copied" compressed "$blowfish_port"
  done
  redis-cli -p "$first" --scan >"$scratch/keys"
  stop_servers
}

# start_replicas BUDGET BUDGET BUDGET: of memory; sets `ports`.
start_replicas() {
  local i budgets=("$@") group
  ports=()
  for i in 1 2 3; do
    start start_blowfish "$scratch/replica$i" --memory-budget "${budgets[i - 1]}"
    open_group "$i"
    echo "$database" >"$group/cgroup.procs"
    ports+=("$blowfish_port")
  done
}

# find_capacity: sets `capacity`, in gets per second: the rate of three servers without memory for
# layers, with clients in a closed loop. It is the best of three rounds, because other work on the
# machine makes it smaller.
find_capacity() {
  say "steps: what the three carry without layers"
  start_replicas 1 1 1
  "$bin/member-reads" "${ports[@]/#/--member=blowfish://127.0.0.1:}" --keys "$scratch/keys" \
    --clients "$steps_clients" --rounds 3 >"$scratch/capacity"
  capacity=$(jq -s 'map(select(.choice == "shortest").rate_per_s) | max' "$scratch/capacity")
  stop_replicas
}

measure_steps() {
  local ports capacity load loads phases=()
  ((quick == 0)) || steps_mib=16 steps_seconds=3
  probe_group
  fill_replicas
  find_capacity
  for load in "${steps_loads[@]}"; do
    phases+=(--phase "$((capacity * load / 100)):${steps_seconds}s")
  done
  say "steps: ${steps_loads[*]} % of $capacity gets/s"
  start_replicas 1GiB 1GiB 1
  "$bin/member-steps" "${ports[@]/#/--port=}" --keys "$scratch/keys" "${phases[@]}" \
    >"$scratch/steps.runs"
  stop_replicas
  loads=$(jq -nc '$ARGS.positional | map(tonumber)' --args "${steps_loads[@]}")
  report members-steps steps "{mib: $steps_mib, percent_of_a_processor: $steps_percent,
    capacity_per_s: $capacity, seconds: $steps_seconds, loads: $loads, slices: .}" step_tables
  draw_steps
}

draw_steps() {
  jq -r '.slices[] | [.time_s, .offered_per_s, .answered_per_s, .reads_per_s[], .queue[],
    .layer_bytes[] / 1048576] | @csv' "$results/members-steps.json" >"$scratch/steps.csv"
  gnuplot -e "data='$scratch/steps.csv'; step=$steps_seconds; steps=${#steps_loads[@]}; \
    out='$results/members-steps.svg'" "$here/steps.gp"
}
