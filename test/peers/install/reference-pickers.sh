#!/usr/bin/env bash
# Builds the Endpoint Pickers of the Gateway API Inference Extension into the
# folder $1: epp of v1.5.0 and lwepp of v1.6.0. Needs Go.
set -euo pipefail
module=sigs.k8s.io/gateway-api-inference-extension
mkdir -p "$1"
folder=$(cd "$1" && pwd)
export GOFLAGS= GOWORK=off CGO_ENABLED=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# go install wants the list of the module's versions, which not every proxy has;
# the module alone is enough. $3 is its sum, as a go.sum has it.
build() {
  local json
  json=$(go mod download -json "$module@$2")
  grep -qF "\"Sum\": \"$3\"" <<<"$json" || { echo "$module@$2 is not what it was"; return 1; }
  cp -r "$(sed -n 's/.*"Dir": "\(.*\)",\?/\1/p' <<<"$json")" "$work/$1"
  chmod -R u+w "$work/$1"
  nice -n 10 go build -C "$work/$1" -trimpath -ldflags '-s -w' -o "$folder/$1" "./cmd/$1"
}
build epp v1.5.0 h1:w9Awt60cmI1vM7Y6N81h8wDCBP0WkmxpdI7GKY0v070=
build lwepp v1.6.0 h1:cjtwMJYcTnLXBYE5ffR1/hHhn7U1aIFfe2RITYmOXVA=
