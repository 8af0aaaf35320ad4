#!/usr/bin/env bash
# Installs smg (the SGLang model gateway) into the folder $1, from PyPI alone.
#
# Needs Python 3.11; downloads about 60 MB.
set -euo pipefail
. "$(cd "$(dirname "$0")" && pwd)/common.sh"

make_env "$1"
"$py" -m uv pip install -q --python "$py" smg==1.13.0 smg-grpc-proto==0.4.28
"$1/bin/smg" --version >/dev/null
