# What the install scripts share; to be sourced, under `set -euo pipefail`.

# Makes a fresh virtual environment in $1 and leaves its interpreter in $py.
make_env() {
  rm -rf "$1"
  "${PYTHON:-python3}" -m venv "$1"
  py=$1/bin/python
  "$py" -m pip install -q --disable-pip-version-check 'uv==0.13.8'
}

# Writes an override for each named package that no machine can meet, which is
# how uv is made to leave a dependency out.
leave_out() {
  printf "%s ; sys_platform == 'never'\n" "$@"
}

# The folder of an environment's packages.
site_packages() {
  "$py" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
}

# Compiles every module once: an engine whose modules are not compiled takes
# minutes to start. Packages carry a few files that are no valid Python on
# purpose, so a failure to compile is none of the install.
compile_modules() {
  env -u PYTHONDONTWRITEBYTECODE "$py" -m compileall -q -j 2 "$(site_packages)" >/dev/null || true
}
