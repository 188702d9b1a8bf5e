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

// The paths in the containers, which are the same in every phase.
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
	syncTokenFile  = resourceDir + "/secrets/" + FileSyncerTokenSecret + "/token"
	apiCAFile      = resourceDir + "/configmaps/" + KubeconfigsConfigMap + "/ca-bundle.crt"
)

type deliveredFile struct {
	kind   Kind
	object string
	key    string
	data   []byte
}

func (f deliveredFile) path() string {
	resource := map[Kind]string{ConfigMap: "configmaps", Secret: "secrets"}[f.kind]
	dir := resourceDir
	if slices.Contains(DeliveredBy(f.kind, Synced), f.object) {
		dir = certDir
	}
	return fmt.Sprintf("%s/%s/%s/%s", dir, resource, f.object, f.key)
}

func (f deliveredFile) forFileSyncer() bool {
	return f.kind == Secret && f.object == FileSyncerTokenSecret
}

// deliver returns every file of a candidate except for the pod, sorted within each object: the revisioned files and, in
// a phase without the file-syncer, the synced ones.
func deliver(in Inputs, server string, c *checkedInputs) ([]deliveredFile, error) {
	files := []deliveredFile{
		{ConfigMap, TrustedCAConfigMap, trustKey, c.trust},
		{Secret, CloudConfigSecret, cloudConfKey, c.cloud.Config},
	}
	for _, key := range slices.Sorted(maps.Keys(c.cloud.Files)) {
		files = append(files, deliveredFile{Secret, CloudConfigSecret, key, c.cloud.Files[key]})
	}
	if len(in.CloudConfig.CABundle) > 0 {
		files = append(files, deliveredFile{ConfigMap, CloudConfigConfigMap, cloudCAKey,
			certificatesOnly(in.CloudConfig.CABundle)})
	}
	for _, key := range slices.Sorted(maps.Keys(c.cloud.Credentials)) {
		files = append(files, deliveredFile{Secret, CloudCredentialsSecret, key, c.cloud.Credentials[key]})
	}
	if in.Phase.Files.onHost() {
		for _, key := range slices.Sorted(maps.Keys(in.Custom.Reloaded)) {
			files = append(files, deliveredFile{Secret, CloudTokensSecret, key, in.Custom.Reloaded[key]})
		}
	}
	if in.Identity == nil {
		return files, nil
	}
	identity, err := in.Identity.files(server)
	if files = append(files, identity...); in.Phase.Files != nil {
		files = slices.DeleteFunc(files, deliveredFile.forFileSyncer)
	}
	return files, err
}

func (i Identity) files(server string) ([]deliveredFile, error) {
	files := []deliveredFile{
		{ConfigMap, KubeconfigsConfigMap, "ca-bundle.crt", i.CABundle},
		{Secret, FileSyncerTokenSecret, "token", i.FileSyncerToken},
	}
	for user, tokenFile := range map[string]string{Name: kubeTokenFile, "file-syncer": syncTokenFile} {
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
		APIVersion: "v1",
		Kind:       "Config",
		Clusters: []clientcmdv1.NamedCluster{{Name: "cluster",
			Cluster: clientcmdv1.Cluster{Server: server, CertificateAuthority: apiCAFile}}},
		AuthInfos: []clientcmdv1.NamedAuthInfo{{Name: user, AuthInfo: clientcmdv1.AuthInfo{TokenFile: tokenFile}}},
		Contexts: []clientcmdv1.NamedContext{{Name: user,
			Context: clientcmdv1.Context{Cluster: "cluster", AuthInfo: user, Namespace: Namespace}}},
		CurrentContext: user,
	})
	if err != nil {
		return nil, fmt.Errorf("writing the kubeconfig of %s: %w", user, err)
	}
	return data, nil
}

func (l *FileLayout) files(delivered []deliveredFile) []File {
	files := make([]File, 0, len(delivered))
	for _, f := range delivered {
		files = append(files, File{Name: l.name(f), Secret: f.kind == Secret, Data: f.data})
	}
	return files
}

// name returns the name of a file on the node. A file of a Secret contains "secret" in its name, which excludes it from
// the installer's log bundle (installer-gather.sh).
func (l *FileLayout) name(f deliveredFile) string {
	if f.kind == Secret {
		return l.Prefix + "secret-" + f.object + "-" + f.key
	}
	return l.Prefix + f.object + "-" + f.key
}

func (l *FileLayout) onHost() bool { return l != nil && l.Volume == "" }

func (l *FileLayout) items(pod *corev1.Pod, delivered []deliveredFile) {
	secret := &corev1.SecretVolumeSource{SecretName: PreflightName}
	for _, f := range delivered {
		secret.Items = append(secret.Items, corev1.KeyToPath{
			Key: l.name(f), Path: strings.TrimPrefix(f.path(), resourceDir+"/"),
		})
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
		Name: l.Volume, VolumeSource: corev1.VolumeSource{Secret: secret},
	})
}

func (l *FileLayout) mount(pod *corev1.Pod, container *corev1.Container, delivered []deliveredFile) {
	if !l.onHost() {
		l.items(pod, delivered)
		return
	}
	for i, f := range delivered {
		dir := l.ConfigDir
		if f.kind == Secret {
			dir = l.SecretsDir
		}
		volume := fmt.Sprintf("file-%d", i)
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
			Name: volume,
			VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
				Path: dir + "/" + l.name(f),
				Type: ptr.To(corev1.HostPathFile),
			}},
		})
		container.VolumeMounts = append(container.VolumeMounts,
			corev1.VolumeMount{Name: volume, MountPath: f.path(), ReadOnly: true})
	}
}
