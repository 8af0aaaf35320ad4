#!/usr/bin/env bash
# Builds kubeconform as the file $1. Needs Go.
set -euo pipefail
folder=$(dirname "$1")
mkdir -p "$folder"
GOBIN=$(cd "$folder" && pwd) GOFLAGS= GOWORK=off CGO_ENABLED=0 \
  go install github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0
"$1" -v
