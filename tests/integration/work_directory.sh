# shellcheck shell=bash
# To be sourced: `work`, a directory of this run, and what tests do with servers that write to it. At
# the exit of the shell, its jobs are killed and the directory is removed.

work=$(mktemp -d "${TMPDIR:-/tmp}/stout-test.XXXXXX")
leave_work_directory() {
  local children
  children=$(jobs -p)
  # shellcheck disable=SC2086  # one word each
  [[ -z $children ]] || kill -KILL $children 2>/dev/null || true
  wait
  rm -rf "$work"
}
trap leave_work_directory EXIT

# await_port PROCESS: waits until a server says on $work/stdout where it listens, or ends. Sets `port`,
# which is empty if the server has ended.
await_port() {
  for _ in {1..600}; do
    if [[ -s $work/stdout ]] || ! kill -0 "$1" 2>/dev/null; then break; fi
    sleep 0.05
  done
  # shellcheck disable=SC2034  # for the script that sources this
  port=$(sed -n 's/^listening on .*://p' "$work/stdout")
}
