package operand

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/openshift/cluster-cloud-controller-manager-operator/bindata"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/digest"
)

const (
	// NodeManager is the name of the cloud-node-manager's DaemonSet. The predecessor uses the same name.
	NodeManager = "azure-cloud-node-manager"

	// NodeManagerContainer is the name of the DaemonSet's only container.
	NodeManagerContainer = "cloud-node-manager"

	// NodeManagerConfigSecret contains the files of a cloud-node-manager that needs more than its instance's metadata.
	NodeManagerConfigSecret = "cloud-node-manager-config"

	// NodeManagerDigestAnnotation on the DaemonSet's pods contains the digest of their specification and of the files that
	// they read. It distinguishes the pods of this candidate from those of an earlier one.
	NodeManagerDigestAnnotation = "cloud-controller-manager.openshift.io/candidate"
)

// NodeManagerLabels returns the labels of the cloud-node-manager's pods, the DaemonSet's selector.
var NodeManagerLabels = sync.OnceValue(func() labels.Set {
	daemonSet := &appsv1.DaemonSet{}
	if err := merge("daemonset", daemonSet, bindata.MustRead("assets/node-manager/daemonset.yaml")); err != nil {
		panic(err) // the asset is embedded, so no input can cause this
	}
	return daemonSet.Spec.Selector.MatchLabels
})

// withNodeManager adds the platform's cloud-node-manager, if there is one: the DaemonSet, and the Secret that it reads.
func (r *Resources) withNodeManager(in Inputs, c *config, checked *checkedInputs) (*Resources, error) {
	if in.Platform.NodeManagerImage == "" {
		return r, nil
	}
	if files := checked.cloud.NodeManager; len(files) > 0 {
		r.NodeManagerConfig = newSecret(NodeManagerConfigSecret, files)
	}
	var err error
	if r.NodeManager, err = buildNodeManager(in, c, r); err != nil {
		return nil, fmt.Errorf("building the cloud-node-manager of platform %s: %w", in.Platform.Name, err)
	}
	return r, nil
}

// NodeManagerManifests returns the assets with the cloud-node-manager's identity, in YAML by file name. The names sort
// in the order of creation: the binding of the admission policy that restricts it precedes its rights. The operator
// also applies these assets.
func NodeManagerManifests() map[string][]byte {
	manifests := map[string][]byte{}
	for _, name := range []string{
		"00_validatingadmissionpolicybinding", "01_clusterrolebinding", "01_rolebinding", "01_serviceaccount",
	} {
		file := name + "-node-manager.yaml"
		_, asset, _ := strings.Cut(file, "_")
		manifests[file] = bindata.MustRead("assets/node-manager/resources/" + asset)
	}
	return manifests
}

// buildNodeManager applies the platform's patch and the configuration to the base DaemonSet. The pods read the objects
// of r.
func buildNodeManager(in Inputs, c *config, r *Resources) (*appsv1.DaemonSet, error) {
	daemonSet := &appsv1.DaemonSet{}
	err := merge("daemonset", daemonSet, bindata.MustRead("assets/node-manager/daemonset.yaml"),
		platformAsset(in.Platform.Name, "node-manager-patch.yaml"))
	if err != nil {
		return nil, err
	}
	pod := &daemonSet.Spec.Template
	if err := setImage(&pod.Spec, in.Images); err != nil {
		return nil, err
	}
	server, err := c.APIServer()
	if err != nil {
		return nil, err
	}
	container := &pod.Spec.Containers[0]
	container.Env = append(container.Env, APIServerEnv(server)...)
	container.Env = append(container.Env, proxyEnv(c)...)

	digest, err := nodeManagerDigest(pod, r)
	if err != nil {
		return nil, err
	}
	pod.Annotations[NodeManagerDigestAnnotation] = digest
	metav1.SetMetaDataAnnotation(&daemonSet.ObjectMeta, RenderedByAnnotation,
		RenderedBy(in.Version, in.Images.Operator))
	return daemonSet, nil
}

func setImage(pod *corev1.PodSpec, images Images) error {
	if len(pod.Containers) != 1 || pod.Containers[0].Name != NodeManagerContainer ||
		pod.Containers[0].Image != "node-manager" {
		return fmt.Errorf("the only container must be %s with the image node-manager", NodeManagerContainer)
	}
	pod.Containers[0].Image = images.NodeManager
	return nil
}

// APIServerEnv makes a pod on the host network use the same API server URL as the control plane, because an
// uninitialized node may have no service network.
func APIServerEnv(server *url.URL) []corev1.EnvVar {
	return []corev1.EnvVar{
		{Name: "KUBERNETES_SERVICE_HOST", Value: server.Hostname()},
		{Name: "KUBERNETES_SERVICE_PORT", Value: cmp.Or(server.Port(), "443")},
	}
}

// nodeManagerDigest returns the digest of the pod and of the data of every object that it mounts. The names of these
// objects stay when their data changes, so only the digest makes the DaemonSet replace its pods.
func nodeManagerDigest(pod *corev1.PodTemplateSpec, r *Resources) (string, error) {
	named := map[string]*corev1.ConfigMap{}
	for _, o := range r.ConfigMaps {
		named[o.Name] = o
	}
	var configMaps []*corev1.ConfigMap
	var secrets []*corev1.Secret
	for _, volume := range pod.Spec.Volumes {
		switch {
		case volume.ConfigMap != nil && named[volume.ConfigMap.Name] != nil:
			configMaps = append(configMaps, named[volume.ConfigMap.Name])
		case volume.Secret != nil && r.NodeManagerConfig != nil && volume.Secret.SecretName == r.NodeManagerConfig.Name:
			secrets = append(secrets, r.NodeManagerConfig)
		default:
			return "", fmt.Errorf("volume %s must be a ConfigMap of the candidate or the Secret %s: "+
				"the cloud-node-manager may read nothing else", volume.Name, NodeManagerConfigSecret)
		}
	}
	template, err := json.Marshal(pod)
	if err != nil {
		return "", fmt.Errorf("writing the pod: %w", err)
	}
	return digest.Of(append(template, digestOf(configMaps, secrets, "")...)), nil
}
