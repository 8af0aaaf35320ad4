#!/usr/bin/env bash
# Installs the clients of agents into the folder $1: OpenAI's, Anthropic's,
# LangChain's and LiteLLM's for Python, from PyPI, and OpenAI's and Anthropic's
# for Node, from npm.
#
# Needs Python 3.10 or newer and npm; downloads about 90 MB, takes about 350 MB.
set -euo pipefail
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
target=$1
make_env "$target"
# LiteLLM imports mcp, and does not name it.
"$py" -m uv pip install -q --python "$py" \
  openai==2.54.0 anthropic==2.12.0 langchain-openai==1.7.3 langchain-anthropic==1.7.7 \
  litellm==1.106.2 mcp==2.3.0
compile_modules
mkdir -p "$target/node"
cd "$target/node"
echo '{"private":true,"type":"module"}' >package.json
npm install -s --ignore-scripts --no-audit --no-fund openai@7.57.0 @anthropic-ai/sdk@1.12.0
"$py" -c 'import openai, anthropic, langchain_openai, langchain_anthropic, litellm'
