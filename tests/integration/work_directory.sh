# shellcheck shell=bash
# To be sourced: `work`, a directory of this run. At the exit of the shell, its jobs are killed and the
# directory is removed.

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
