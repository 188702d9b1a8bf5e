#!/usr/bin/env bash
# The step of bootkube.sh that runs a cloud-controller-manager on the bootstrap node. Paste it after the
# machine-config-operator's step: the release's image-references and the other operators' manifests exist then.
#
# It runs in /opt/openshift and has the requirements of every step: errexit, nounset and pipefail, the functions
# bootkube_podman_run, record_service_stage_start and record_service_stage_success, and the variables VERSION and
# CLOUD_CONTROLLER_MANAGER_OPERATOR_IMAGE, which is "$(image_for cluster-cloud-controller-manager-operator)".

: "${BOOTSTRAP_CONFIGS_DIR:=/etc/kubernetes/bootstrap-configs}"

# Some output directories do not exist on every platform, and cp fails on a glob without a match.
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

	# root owns the credentials in the output.
	rendered=0
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
		--manifest-operator-image="${CLOUD_CONTROLLER_MANAGER_OPERATOR_IMAGE}" || rendered=$?
	# 125 to 127 are podman's own codes. bootkube.service repeats the step then, which may help. Where render itself fails,
	# the next attempt would too, and nothing is copied: the nodes wait for the cluster's own cloud-controller-manager.
	case "$rendered" in
	0) ;;
	125 | 126 | 127) (exit "$rendered") ;;
	*)
		echo "The installation goes on without a cloud-controller-manager on the bootstrap node." >&2
		rm --recursive --force cloud-controller-manager-bootstrap
		;;
	esac

	copy_rendered config "${BOOTSTRAP_CONFIGS_DIR}"
	copy_rendered tls tls
	copy_rendered manifests manifests
	# The pod comes last, because cluster-bootstrap starts every pod that it finds.
	copy_rendered bootstrap-manifests bootstrap-manifests

	touch cloud-controller-manager-bootstrap.done
	record_service_stage_success
fi
