#!/usr/bin/env bash
# Installs what examples/python-client needs into the folder $1, from PyPI
# alone: the versions and hashes of its own requirements.txt, and no others.
#
# Needs Python 3.10 or newer; downloads about 8 MB.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

make_env "$1"
"$py" -m uv pip install -q --python "$py" --require-hashes --only-binary :all: \
  --requirement "$here/../../../examples/python-client/requirements.txt"
compile_modules
"$py" -c 'import grpc, grpc_reflection, google.protobuf; print(grpc.__version__, google.protobuf.__version__)'
