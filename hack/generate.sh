#!/usr/bin/env bash
# Generates the CRD of pkg/apis and the patches of docs/onboarding. With --check it changes nothing and fails if they
# differ.
set -euo pipefail
source "$(dirname "$0")/modules.sh"

CRD=manifests/0000_26_cloud-controller-manager-operator_01_cloudcontrollermanagers.crd.yaml

out="$(mktemp -d)"
trap 'rm -rf "$out"' EXIT

step "generating the CRD of pkg/apis"
generator="$(tool controller-gen sigs.k8s.io/controller-tools/cmd/controller-gen)"
"$generator" crd:crdVersions=v1 paths=./pkg/apis/... output:crd:dir="$out"
mv "$out/operator.openshift.io_cloudcontrollermanagers.yaml" "$out/crd.yaml"
with_node_uid "$out/crd.yaml"

if [[ "${1:-}" == --check ]]; then
	if ! diff -u "$CRD" "$out/crd.yaml"; then
		echo "the CRD is out of date: run make update-golden" >&2
		exit 1
	fi
else
	cp "$out/crd.yaml" "$CRD"
fi
hack/onboarding.sh "$@"
