#!/usr/bin/env bash
# Takes prometheus and promtool out of Debian's package, into the folder $1.
# Nothing is installed on the machine.
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
rm -rf "$target"
mkdir -p "$target"
install -m 755 usr/bin/prometheus usr/bin/promtool "$target"
"$target/prometheus" --version
"$target/promtool" --version
