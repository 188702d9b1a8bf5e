#!/usr/bin/env bash
# Generates the deep copies and the CRD of pkg/apis. With --check it changes nothing and fails if they differ.
set -euo pipefail
source "$(dirname "$0")/modules.sh"

CRD=manifests/0000_26_cloud-controller-manager-operator_01_cloudcontrollermanagers.crd.yaml
DEEPCOPY=pkg/apis/operator/v1/zz_generated.deepcopy.go

out="$(mktemp -d)"
trap 'rm -rf "$out"' EXIT

step "generating the CRD and the deep copies of pkg/apis"
generator="$(tool controller-gen sigs.k8s.io/controller-tools/cmd/controller-gen)"
"$generator" crd:crdVersions=v1 paths=./pkg/apis/... output:crd:dir="$out"
"$generator" object paths=./pkg/apis/... output:object:dir="$out"
mv "$out/operator.openshift.io_cloudcontrollermanagers.yaml" "$out/crd.yaml"

if [[ "${1:-}" == --check ]]; then
	if ! diff -u "$CRD" "$out/crd.yaml" || ! diff -u "$DEEPCOPY" "$out/zz_generated.deepcopy.go"; then
		echo "generated files are out of date: run make update-golden" >&2
		exit 1
	fi
	exit 0
fi
cp "$out/crd.yaml" "$CRD"
cp "$out/zz_generated.deepcopy.go" "$DEEPCOPY"
