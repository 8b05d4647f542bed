# shellcheck shell=bash
# To be sourced: a network between docstore-server and its store, and what can go wrong in it. Uses
# `bin`, the directory of the programs.

# start_network SERVER: a port or a socket's path; sets `network_port`, where to connect instead, and
# `network_PID`, its process, which ends with this one at the latest.
start_network() {
  coproc network { exec "$bin/tcp-proxy" "$1"; }
  read -r network_port <&"${network[0]}" || return 1
  network_port=${network_port##*:}
}

# behave FAULT...: those of tcp-proxy, from now on; sets `network_tally` to what it has done so far.
behave() {
  echo "$*" >&"${network[1]}"
  read -r network_tally <&"${network[0]}"
}

# How long each lasts, in seconds: longer than the store's timeout of 1 s where it is to pass.
declare -A network_faults=([delay]=1 [throttle]=2 [cut]=2 [swallow]=2 [ghost]=3)

strike_network() { # FAULT
  case $1 in
    delay) behave delay=100ms ;;
    throttle) behave bytes_per_second=20000 ;; # of which a batch takes seconds
    swallow) behave swallow_answers ;;
    # A slow link makes a batch large, and there it stays; the store times out, and what it sends on
    # other connections is newer.
    ghost)
      behave bytes_per_second=20000
      sleep 0.7
      behave hold_connected
      ;;
    cut) # wherever it comes: within a batch, between two, while it connects again
      for _ in {1..10}; do
        behave cut_after=$((RANDOM % 20000))
        sleep "0.${network_faults[cut]}"
      done
      ;;
  esac
  [[ $1 == cut ]] || sleep "${network_faults[$1]}"
  behave
}

# met_network FAULT: did it come upon anything? Waits a while for ghosts, which need their time.
met_network() {
  local -A counters=([delay]=delayed [throttle]=throttled [cut]=cuts [swallow]=swallowed
    [ghost]=ghosts)
  for _ in {1..50}; do
    behave
    [[ $network_tally != *"${counters[$1]}=0 "* ]] && return
    sleep 0.1
  done
  return 1
}
