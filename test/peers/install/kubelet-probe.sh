#!/usr/bin/env bash
# Builds the kubelet's own gRPC probe as the file $1. Needs Go.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$(dirname "$1")"
# Under another name first, so that the file is complete when it is there.
GOFLAGS= GOWORK=off CGO_ENABLED=0 go build -C "$here/kubelet-probe" -trimpath -ldflags '-s -w' -o "$1.new" .
mv "$1.new" "$1"
