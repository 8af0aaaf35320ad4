#!/usr/bin/env bash
# Installs NVIDIA Dynamo's frontend and mocker into the folder $1, from PyPI
# alone. Their packages are taken without dependencies: one of these can only
# be had elsewhere, and neither the frontend nor the mocker imports it.
#
# Needs Python 3.10 or newer; downloads about 85 MB.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
version=1.6.1

make_env "$1"
"$py" -m uv pip install -q --python "$py" --no-deps "ai-dynamo==$version" "ai-dynamo-runtime==$version"
"$py" -m uv pip install -q --python "$py" --constraint "$here/constraints/dynamo.txt" \
  uvloop pydantic packaging pyyaml msgspec pyzmq
compile_modules
"$py" -m dynamo.frontend --version
