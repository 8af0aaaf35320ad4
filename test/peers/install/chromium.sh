#!/usr/bin/env bash
# Sees to it that there is a Chromium, and writes its version into the folder $1.
#
# KV_ACCORD_CHROMIUM names another one than /usr/bin/chromium. Where there is none, root gets Debian's by apt-get
# (about 400 MB).
set -euo pipefail
target=$1
chromium=${KV_ACCORD_CHROMIUM:-/usr/bin/chromium}
if ! [ -x "$chromium" ]; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "no $chromium, and nothing to install it with (root and apt-get)"
    exit 1
  fi
  wait_for_lock=(-o DPkg::Lock::Timeout=300)
  apt-get "${wait_for_lock[@]}" -q update
  DEBIAN_FRONTEND=noninteractive apt-get "${wait_for_lock[@]}" -q -y --no-install-recommends install chromium
fi
mkdir -p "$target"
"$chromium" --version --no-sandbox >"$target/version"
cat "$target/version"
