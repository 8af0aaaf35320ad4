#!/usr/bin/env bash
# Builds an OpenTelemetry Collector that takes OTLP and hands it on over OTLP, with
# OpenTelemetry's own builder, as the file $1. Needs Go.
set -euo pipefail
mkdir -p "$(dirname "$1")"
target=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOFLAGS= GOWORK=off CGO_ENABLED=0
GOBIN=$work go install go.opentelemetry.io/collector/cmd/builder@v0.165.0
cat >manifest.yaml <<'END'
dist:
  name: otelcol
  output_path: ./out
receivers:
  - gomod: go.opentelemetry.io/collector/receiver/otlpreceiver v0.165.0
exporters:
  - gomod: go.opentelemetry.io/collector/exporter/otlphttpexporter v0.165.0
providers:
  - gomod: go.opentelemetry.io/collector/confmap/provider/envprovider v1.71.0
  - gomod: go.opentelemetry.io/collector/confmap/provider/fileprovider v1.71.0
END
nice -n 10 ./builder --config manifest.yaml
install -m 755 out/otelcol "$target"
"$target" components
