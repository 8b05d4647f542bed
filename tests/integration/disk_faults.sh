# shellcheck shell=bash
# To be sourced: a disk of this process alone that can be filled.

# in_private_mounts COMMAND...: runs it where what it mounts is seen by itself and its children alone
# and goes with them. Needs no privilege where users may have namespaces of their own.
#
# If mounts are forbidden, as in most containers, it exits with 77, which ctest reports as a
# skipped test. With STOUT_REQUIRE_MOUNTS=1 it exits with 1.
in_private_mounts() {
  local how=(--mount)
  ((EUID == 0)) || how+=(--user --map-current-user --keep-caps)
  if ! unshare "${how[@]}" mount -t tmpfs -o size=1m none "${TMPDIR:-/var/tmp}"; then
    echo "this test fills a disk, which needs a mount of its own: be root with CAP_SYS_ADMIN, or" \
      "allow user namespaces" >&2
    [[ ${STOUT_REQUIRE_MOUNTS-} != 1 ]] || exit 1
    echo "skipped: mounts are forbidden here" >&2
    exit 77
  fi
  exec unshare "${how[@]}" "$@"
}

# mount_disk DIRECTORY MIB
mount_disk() {
  mkdir -p "$1"
  mount -t tmpfs -o "size=$2m" none "$1"
  disks+=("$1")
}
disks=()

unmount_disks() {
  local disk
  for disk in "${disks[@]}"; do umount --lazy "$disk"; done
}

fill_disk() { # DIRECTORY
  ! cat /dev/zero >>"$1/ballast" 2>/dev/null # until there is no more room
}

empty_disk() { # DIRECTORY
  rm -f "$1/ballast"
}
