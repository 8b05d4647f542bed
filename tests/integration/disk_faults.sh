# shellcheck shell=bash
# To be sourced: a disk of this process alone that can be filled.

# in_private_mounts COMMAND...: runs it where what it mounts is seen by itself and its children alone
# and goes with them. Needs no privilege where users may have namespaces of their own.
in_private_mounts() {
  local how=(--mount)
  ((EUID == 0)) || how+=(--user --map-current-user --keep-caps)
  unshare "${how[@]}" true || {
    echo "no mounts of one's own here: be root, or allow user namespaces" >&2
    return 1
  }
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
  ! cat /dev/zero >"$1/ballast" 2>/dev/null # until there is no more room
}

empty_disk() { # DIRECTORY
  rm -f "$1/ballast"
}
