package operand

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// Where the files are for the containers, the same in every phase.
const (
	resourceDir    = "/etc/kubernetes/static-pod-resources"
	certDir        = "/etc/kubernetes/static-pod-certs"
	cloudConfigDir = resourceDir + "/secrets/" + CloudConfigSecret
	tokensDir      = certDir + "/secrets/" + CloudTokensSecret
	kubeconfigFile = resourceDir + "/configmaps/" + KubeconfigsConfigMap + "/" + Name + ".kubeconfig"
	credentialsDir = resourceDir + "/secrets/" + CloudCredentialsSecret
	cloudCAKey     = "ca-bundle.pem"
	cloudConfKey   = "cloud.conf"
	trustKey       = "ca-bundle.crt"
	cloudCAFile    = resourceDir + "/configmaps/" + CloudConfigConfigMap + "/" + cloudCAKey
	kubeTokenFile  = certDir + "/secrets/" + KubeTokenSecret + "/token"
	syncTokenFile  = resourceDir + "/secrets/" + CertSyncerTokenSecret + "/token"
	apiCAFile      = resourceDir + "/configmaps/" + KubeconfigsConfigMap + "/ca-bundle.crt"
)

// deliveredFile is the content of one key of one object.
type deliveredFile struct {
	kind   Kind
	object string
	key    string
	data   []byte
}

// path is where the file is for the containers.
func (f deliveredFile) path() string {
	folder := map[Kind]string{ConfigMap: "configmaps", Secret: "secrets"}[f.kind]
	dir := resourceDir
	if slices.Contains(DeliveredBy(f.kind, Synced), f.object) {
		dir = certDir
	}
	return fmt.Sprintf("%s/%s/%s/%s", dir, folder, f.object, f.key)
}

// forCertSyncer reports whether the operand cannot read the file, only the cert-syncer beside it can.
func (f deliveredFile) forCertSyncer() bool {
	return f.kind == Secret && f.object == CertSyncerTokenSecret
}

// deliver lists every file that a candidate holds, but the pod itself, sorted within its object: those that are revisioned,
// and where there is no cert-syncer those that it would bring.
func deliver(in Inputs, server string, c *checkedInputs) ([]deliveredFile, error) {
	files := []deliveredFile{
		{ConfigMap, TrustedCAConfigMap, trustKey, c.trust},
		{Secret, CloudConfigSecret, cloudConfKey, c.cloud.Config},
	}
	for _, key := range sortedKeys(c.cloud.Files) {
		files = append(files, deliveredFile{Secret, CloudConfigSecret, key, c.cloud.Files[key]})
	}
	if len(in.CloudConfig.CABundle) > 0 {
		files = append(files, deliveredFile{ConfigMap, CloudConfigConfigMap, cloudCAKey, certificatesOnly(in.CloudConfig.CABundle)})
	}
	for _, key := range sortedKeys(c.cloud.Credentials) {
		files = append(files, deliveredFile{Secret, CloudCredentialsSecret, key, c.cloud.Credentials[key]})
	}
	if in.Phase.Files != nil {
		for _, key := range sortedKeys(in.Custom.Reloaded) {
			files = append(files, deliveredFile{Secret, CloudTokensSecret, key, in.Custom.Reloaded[key]})
		}
	}
	if in.Identity == nil {
		return files, nil
	}
	identity, err := in.Identity.files(server)
	return append(files, identity...), err
}

// files are what the pod's containers need to reach the API.
func (i Identity) files(server string) ([]deliveredFile, error) {
	files := []deliveredFile{
		{ConfigMap, KubeconfigsConfigMap, "ca-bundle.crt", i.CABundle},
		{Secret, CertSyncerTokenSecret, "token", i.CertSyncerToken},
	}
	for user, tokenFile := range map[string]string{Name: kubeTokenFile, "cert-syncer": syncTokenFile} {
		data, err := kubeconfig(server, user, tokenFile)
		if err != nil {
			return nil, err
		}
		files = append(files, deliveredFile{ConfigMap, KubeconfigsConfigMap, user + ".kubeconfig", data})
	}
	slices.SortStableFunc(files, func(a, b deliveredFile) int { return strings.Compare(a.path(), b.path()) })
	return files, nil
}

func kubeconfig(server, user, tokenFile string) ([]byte, error) {
	data, err := yaml.Marshal(clientcmdv1.Config{
		APIVersion:     "v1",
		Kind:           "Config",
		Clusters:       []clientcmdv1.NamedCluster{{Name: "cluster", Cluster: clientcmdv1.Cluster{Server: server, CertificateAuthority: apiCAFile}}},
		AuthInfos:      []clientcmdv1.NamedAuthInfo{{Name: user, AuthInfo: clientcmdv1.AuthInfo{TokenFile: tokenFile}}},
		Contexts:       []clientcmdv1.NamedContext{{Name: user, Context: clientcmdv1.Context{Cluster: "cluster", AuthInfo: user, Namespace: Namespace}}},
		CurrentContext: user,
	})
	if err != nil {
		return nil, fmt.Errorf("writing the kubeconfig of %s: %w", user, err)
	}
	return data, nil
}

// files names the delivered files as this layout wants them on the node.
func (l FileLayout) files(delivered []deliveredFile) []File {
	files := make([]File, 0, len(delivered))
	for _, f := range delivered {
		files = append(files, File{Name: l.name(f), Secret: f.kind == Secret, Data: f.data})
	}
	return files
}

// name marks what comes from a Secret: the installer's log bundle has all of /opt/openshift but what has "secret" in its
// name (installer-gather.sh).
func (l FileLayout) name(f deliveredFile) string {
	if f.kind == Secret {
		return l.Prefix + "secret-" + f.object + "-" + f.key
	}
	return l.Prefix + f.object + "-" + f.key
}

// mount gives the container every delivered file from its place on the host, where containers expect it.
func (l FileLayout) mount(pod *corev1.Pod, container *corev1.Container, delivered []deliveredFile) {
	for i, f := range delivered {
		folder := l.ConfigDir
		if f.kind == Secret {
			folder = l.SecretsDir
		}
		volume := fmt.Sprintf("file-%d", i)
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
			Name: volume,
			VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
				Path: folder + "/" + l.name(f),
				Type: ptr.To(corev1.HostPathFile),
			}},
		})
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: f.path(), ReadOnly: true})
	}
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
