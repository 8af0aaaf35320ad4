#!/usr/bin/env bash
# Builds what a test needs of Kubernetes into the folder $1: etcd, kube-apiserver,
# kube-controller-manager and kubectl, from their published modules.
#
# Needs Go. With an empty build cache this is 12 CPU minutes and 2.5 GB of build
# cache; the largest of the compiler's processes takes 1.8 GB of memory.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
version=1.35.4

rm -rf "$1"
mkdir -p "$1"
folder=$(cd "$1" && pwd)
export GOFLAGS= GOWORK=off CGO_ENABLED=0

# A server that does not get its version calls itself v0.0.0, and clients misjudge what it can do.
IFS=. read -r major minor _ <<<"$version"
component=k8s.io/component-base/version
stamp="-X $component.gitVersion=v$version -X $component.gitMajor=$major -X $component.gitMinor=$minor -X $component.gitTreeState=clean"

# One at a time: two together need more memory than a small machine has.
build() {
  nice -n 10 go build -C "$here/kube" -trimpath -ldflags "-s -w $stamp" -o "$folder/$1" "$2"
}
build etcd go.etcd.io/etcd/server/v3
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
build kube-controller-manager k8s.io/kubernetes/cmd/kube-controller-manager
build kubectl k8s.io/kubernetes/cmd/kubectl

[ "$("$folder/kube-apiserver" --version)" = "Kubernetes v$version" ]
