#!/usr/bin/env bash
# Takes promtool out of Debian's package of Prometheus, as the file $1. Nothing
# is installed on the machine.
set -euo pipefail
target=$1
if ! command -v apt-get >/dev/null; then
  echo 'there is no apt-get to fetch it with'
  exit 1
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
apt-get -q -o APT::Sandbox::User=root download prometheus
dpkg-deb -x prometheus_*.deb .
mkdir -p "$(dirname "$target")"
install -m 755 usr/bin/promtool "$target"
"$target" --version
