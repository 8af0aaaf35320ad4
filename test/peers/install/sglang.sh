#!/usr/bin/env bash
# Installs an SGLang that serves a small Llama on a CPU into the folder $1, from
# PyPI alone. It is good for its protocols, not for speed: see sgl-kernel.py.
#
# Needs Python 3.11, gcc and readelf; downloads about 1 GB.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
version=0.5.23

make_env "$1"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Left out: what is CUDA only, and what serving text on a CPU never asks for.
{
  echo 'torch==2.14.1'
  leave_out cuda-toolkit cuda-bindings cuda-python nvidia-cudnn-cu13 nvidia-cusparselt-cu13 nvidia-nccl-cu13 \
    nvidia-nvshmem-cu13 nvidia-cutlass-dsl nvidia-mathdx nvshmem4py-cu13 flash-attn-4 flashinfer_python \
    humming-kernels quack-kernels sgl-deep-ep sgl-deep-gemm sgl-flash-mla sglang-kernel tilelang triton \
    torchaudio torchvision torchcodec torch_memory_saver apache-tvm-ffi xgrammar outlines datasets modelscope \
    decord2 timm soundfile tml-renderers deepseek-recipe smg-grpc-servicer
} >"$scratch/overrides.txt"
"$py" -m uv pip install -q --python "$py" --override "$scratch/overrides.txt" \
  --constraint "$here/constraints/sglang.txt" "sglang==$version"
# Imported at start on every device, so these come back, without what they want in turn.
"$py" -m uv pip install -q --python "$py" --no-deps triton==3.8.0 torchvision==0.29.2 xgrammar==0.2.7 \
  apache-tvm-ffi==0.1.11 outlines==0.1.11 torch_memory_saver==0.0.10 dill multiprocess xxhash soundfile cffi \
  pycparser --constraint "$here/constraints/sglang.txt"
"$py" "$here/cuda-stubs.py"
kernel=$(site_packages)/sgl_kernel
mkdir -p "$kernel"
cp "$here/sgl-kernel.py" "$kernel/__init__.py"

compile_modules
SGLANG_USE_CPU_ENGINE=1 "$py" -c 'import sglang' 2>/dev/null
