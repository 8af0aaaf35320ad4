#!/usr/bin/env bash
# Installs NIXL, by which engines exchange KV blocks, into the folder $1, from
# PyPI alone. A folder of its own, for PYTHONPATH: the vLLM that other tests
# start stays as it is.
#
# Needs Python 3.11 or newer; downloads about 50 MB.
set -euo pipefail
. "$(cd "$(dirname "$0")" && pwd)/common.sh"

# cu13 because the torch that vLLM runs with here is built for CUDA 13.
make_env "$1"
"$py" -m uv pip install -q --python "$py" --no-deps --target "$1/packages" \
  nixl==1.5.1 nixl-cu13==1.5.1
