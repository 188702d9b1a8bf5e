#!/usr/bin/env bash
# The step of bootkube.sh that puts a cloud-controller-manager on the bootstrap node, to be pasted in after the
# machine-config-operator's: by then the release's image-references and every other operator's manifests are there.
#
# It runs in /opt/openshift and expects of its surroundings what every step does: errexit, nounset and pipefail, the
# functions bootkube_podman_run, record_service_stage_start and record_service_stage_success, and the variables VERSION
# and CLOUD_CONTROLLER_MANAGER_OPERATOR_IMAGE, which is "$(image_for cluster-cloud-controller-manager-operator)".

: "${BOOTSTRAP_CONFIGS_DIR:=/etc/kubernetes/bootstrap-configs}"

# Not every folder of the output exists on every platform, and cp fails on a glob that matches nothing.
copy_rendered() {
	local source="cloud-controller-manager-bootstrap/$1" target="$2" file
	mkdir --parents "$target"
	for file in "$source"/*; do
		if [ -f "$file" ]; then
			cp "$file" "$target/"
		fi
	done
}

if [ ! -f cloud-controller-manager-bootstrap.done ]; then
	record_service_stage_start "cloud-controller-manager-bootstrap"
	echo "Rendering Cloud Controller Manager core manifests..."

	rm --recursive --force cloud-controller-manager-bootstrap

	# The credentials among the outputs are root's.
	bootkube_podman_run \
		--name cloud-controller-manager-render \
		--user 0 \
		--volume "$PWD:/assets:z" \
		"${CLOUD_CONTROLLER_MANAGER_OPERATOR_IMAGE}" \
		/usr/bin/cluster-cloud-controller-manager-operator render \
		--asset-input-dir=/assets/tls \
		--asset-output-dir=/assets/cloud-controller-manager-bootstrap \
		--config-output-file=/assets/cloud-controller-manager-bootstrap/config/cloud-controller-manager-config.yaml \
		--rendered-manifest-files=/assets/manifests \
		--payload-version="${VERSION}" \
		--infra-config-file=/assets/manifests/cluster-infrastructure-02-config.yml \
		--cloud-config-file=/assets/config-bootstrap/cloud-provider-config-generated.yaml \
		--image-references=/assets/image-references \
		--manifest-operator-image="${CLOUD_CONTROLLER_MANAGER_OPERATOR_IMAGE}"

	copy_rendered config "${BOOTSTRAP_CONFIGS_DIR}"
	copy_rendered tls tls
	copy_rendered manifests manifests
	# The pod comes last: cluster-bootstrap starts what it finds there.
	copy_rendered bootstrap-manifests bootstrap-manifests

	touch cloud-controller-manager-bootstrap.done
	record_service_stage_success
fi
