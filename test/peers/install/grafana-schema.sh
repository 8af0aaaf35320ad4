#!/usr/bin/env bash
# Installs what Grafana publishes of its dashboards into the folder $1: the types
# of a dashboard and of its panels, and the units that it knows; from npm, without
# what they import. Grafana itself is in no registry of packages.
#
# Needs npm and tar; downloads about 3 MB.
set -euo pipefail
rm -rf "$1"
mkdir -p "$1"
cd "$1"
for package in schema data; do
  file=$(npm pack -s "@grafana/$package@13.2.3")
  mkdir -p "node_modules/@grafana/$package"
  tar -xzf "$file" -C "node_modules/@grafana/$package" --strip-components 1
  rm "$file"
done
