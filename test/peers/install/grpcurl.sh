#!/usr/bin/env bash
# Builds grpcurl as the file $1. Needs Go.
set -euo pipefail
folder=$(dirname "$1")
mkdir -p "$folder"
GOBIN=$(cd "$folder" && pwd) GOFLAGS= GOWORK=off CGO_ENABLED=0 \
  go install github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4
"$1" -version
