#!/usr/bin/env bash
# Installs vllm-router into the folder $1, from PyPI alone.
#
# Needs Python 3.10 or newer; downloads about 25 MB.
set -euo pipefail
. "$(cd "$(dirname "$0")" && pwd)/common.sh"

make_env "$1"
"$py" -m uv pip install -q --python "$py" vllm-router==0.1.17
"$1/bin/vllm-router" --help >/dev/null
