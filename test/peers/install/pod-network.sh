#!/usr/bin/env bash
# Sees to it that pods' stand-ins can have addresses of their own, and says so in the folder $1.
#
# Needs root on Linux; where a command is missing, apt-get installs it (about 1 MB).
set -euo pipefail
if [ "$(id -u)" != 0 ]; then
  echo "network namespaces are made by root here, and this is user $(id -un)"
  exit 1
fi
wanted=()
command -v ip >/dev/null || wanted+=(iproute2)
command -v unshare >/dev/null && command -v nsenter >/dev/null || wanted+=(util-linux)
if [ ${#wanted[@]} -gt 0 ]; then
  if ! command -v apt-get >/dev/null; then
    echo "missing, and there is no apt-get to install them: ${wanted[*]}"
    exit 1
  fi
  wait_for_lock=(-o DPkg::Lock::Timeout=300)
  apt-get "${wait_for_lock[@]}" -q update
  DEBIAN_FRONTEND=noninteractive apt-get "${wait_for_lock[@]}" -q -y --no-install-recommends install "${wanted[@]}"
fi
# What this makes is gone with its namespace.
unshare --net ip link add one type veth peer name other
mkdir -p "$1"
