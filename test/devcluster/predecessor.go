package devcluster

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/objects"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
)

//go:embed predecessor.yaml
var predecessorManifests []byte

// Predecessor configures InstallPredecessor.
type Predecessor struct {
	// OnPort makes its pods listen on port 10258, as those of IBM Cloud and Power VS do, and those of every platform
	// did before autumn 2025.
	OnPort bool
}

// predecessorOperand is what differs between the platforms whose cloud-controller-manager the predecessor runs here.
type predecessorOperand struct {
	// args replace the command's arguments on OpenStack.
	args []string
	// config returns the files that the cloud-controller-manager reads.
	config func(*seed.Example) (map[string]string, error)
	// env are variables beside the API server's address.
	env []corev1.EnvVar
}

// predecessorOperands are those of other platforms than OpenStack. Its instances have roles, and an init container
// writes credentials to the configuration; here both are in a Secret.
var predecessorOperands = map[configv1.PlatformType]predecessorOperand{
	configv1.AWSPlatformType: {
		args:   []string{"--cloud-provider=aws"},
		config: awsFilesOfPredecessor,
		env:    []corev1.EnvVar{{Name: "AWS_SHARED_CREDENTIALS_FILE", Value: predecessorFiles + "/credentials"}},
	},
	configv1.AzurePlatformType: {
		// Upstream's cloud-controller-manager refuses the fork's --concurrent-service-syncs=10.
		args: []string{"--cloud-provider=azure", "--controllers=*,-cloud-node-controller",
			"--cluster-name=" + seed.InfrastructureName},
		config: azureFilesOfPredecessor,
	},
}

const (
	predecessorFiles  = "/etc/predecessor"
	predecessorSecret = "predecessor-files"
	openStackOperand  = "openstack-cloud-controller-manager"
)

// InstallPredecessor creates what the Deployment-based predecessor leaves in a cluster WithoutPayload on AWS, Azure or
// OpenStack, its Deployment included, or, in a cluster with a payload, what is missing of it. Its operator does not
// run. Call LoadImages before it.
func (c *Cluster) InstallPredecessor(ctx context.Context, options Predecessor) error {
	fmt.Fprintln(c.progress, "installing the predecessor")
	c.succeeds = true
	client, err := objects.NewClient(c.config)
	if err != nil {
		return err
	}
	reader := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(predecessorManifests), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := reader.Decode(&object.Object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("predecessor.yaml: %w", err)
		}
		if object.GetKind() == "DaemonSet" && c.options.Platform != configv1.AzurePlatformType {
			continue
		}
		if err := c.adaptPredecessor(object, options); err != nil {
			return fmt.Errorf("predecessor.yaml: %w", err)
		}
		if err := createIfMissing(ctx, client, object); err != nil {
			return err
		}
	}
	if err := c.createPredecessorFiles(ctx, client); err != nil {
		return err
	}
	var trust string
	if c.cloud != nil {
		trust = string(c.cloud.CABundle())
		if err := createIfMissing(ctx, client, c.credentialsSecret()); err != nil {
			return err
		}
	}
	return createIfMissing(ctx, client, &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: seed.TargetNamespace, Name: "ccm-trusted-ca"},
		Data:       map[string]string{"ca-bundle.crt": trust},
	})
}

// createPredecessorFiles creates what the cloud-controller-manager reads on other platforms than OpenStack.
func (c *Cluster) createPredecessorFiles(ctx context.Context, client *objects.Client) error {
	operand, isOther := predecessorOperands[c.options.Platform]
	if !isOther {
		return nil
	}
	files, err := operand.config(c.installation())
	if err != nil {
		return err
	}
	secret := seed.Secret(predecessorSecret, nil)
	secret.StringData = files
	return createIfMissing(ctx, client, secret)
}

func createIfMissing(ctx context.Context, client *objects.Client, object runtime.Object) error {
	if err := client.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("predecessor: %w", err)
	}
	return nil
}

// adaptPredecessor fills in the platform, the image, the API server's address, the number of replicas and the port.
func (c *Cluster) adaptPredecessor(object *unstructured.Unstructured, options Predecessor) error {
	switch object.GetKind() {
	case "PodDisruptionBudget", "Service":
		return c.renamePredecessor(object)
	case "DaemonSet":
		daemonSet := &appsv1.DaemonSet{}
		return adapt(object, daemonSet, func() {
			c.adaptPredecessorContainer(&daemonSet.Spec.Template.Spec.Containers[0], daemonSet.Name)
		})
	case "Deployment":
		if err := c.renamePredecessor(object); err != nil {
			return err
		}
		deployment := &appsv1.Deployment{}
		return adapt(object, deployment, func() { c.adaptPredecessorDeployment(deployment, options) })
	}
	return nil
}

// renamePredecessor replaces OpenStack by the cluster's platform.
func (c *Cluster) renamePredecessor(object *unstructured.Unstructured) error {
	content, err := json.Marshal(object)
	if err != nil {
		return err
	}
	renamed := strings.NewReplacer(
		openStackOperand, c.OperandTag(), string(configv1.OpenStackPlatformType), string(c.options.Platform),
	).Replace(string(content))
	return json.Unmarshal([]byte(renamed), object)
}

func (c *Cluster) adaptPredecessorDeployment(deployment *appsv1.Deployment, options Predecessor) {
	if c.options.Nodes == 1 {
		deployment.Spec.Replicas = ptr.To[int32](1)
	}
	pod := &deployment.Spec.Template.Spec
	container := &pod.Containers[0]
	c.adaptPredecessorContainer(container, deployment.Name)
	if options.OnPort {
		at := slices.Index(container.Command, "--secure-port=0")
		container.Command = slices.Delete(container.Command, at, at+1)
	}
	operand, isOther := predecessorOperands[c.options.Platform]
	if !isOther {
		return
	}
	container.Command = slices.DeleteFunc(container.Command, func(arg string) bool {
		return strings.HasPrefix(arg, "--cloud-")
	})
	container.Command[0] = c.OperandPath()
	container.Command = append(container.Command, operand.args...)
	container.Command = append(container.Command, "--cloud-config="+predecessorFiles+"/cloud.conf")
	container.Env = append(container.Env, operand.env...)
	const name = "files"
	isTrust := func(name string) bool { return name == "trusted-ca" }
	container.VolumeMounts = append(
		slices.DeleteFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return !isTrust(m.Name) }),
		corev1.VolumeMount{Name: name, MountPath: predecessorFiles, ReadOnly: true})
	pod.Volumes = append(
		slices.DeleteFunc(pod.Volumes, func(v corev1.Volume) bool { return !isTrust(v.Name) }),
		corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: predecessorSecret}}})
}

func (c *Cluster) adaptPredecessorContainer(container *corev1.Container, image string) {
	container.Image = ImageRef(image)
	container.Env = append(container.Env,
		corev1.EnvVar{Name: "KUBERNETES_SERVICE_HOST", Value: c.layout.address},
		corev1.EnvVar{Name: "KUBERNETES_SERVICE_PORT", Value: apiServerPort})
}

// adapt changes an object of a type.
func adapt(object *unstructured.Unstructured, typed any, change func()) (err error) {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
		return err
	}
	change()
	object.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return err
	}
	dropNullTimes(object)
	return nil
}

// awsFilesOfPredecessor returns the installer's configuration with the endpoints that it writes there, too.
func awsFilesOfPredecessor(installed *seed.Example) (map[string]string, error) {
	config := installed.CloudConfig[seed.CloudConfigKey] + "ClusterServiceLoadBalancerHealthProbeMode = Shared\n"
	region := installed.Status.AWS.Region
	for i, endpoint := range installed.Status.AWS.ServiceEndpoints {
		service, known := map[string]string{"ec2": "EC2", "elasticloadbalancing": "Elastic Load Balancing v2"}[endpoint.Name]
		if !known {
			continue
		}
		config += fmt.Sprintf("\n[ServiceOverride %q]\nService = %s\nRegion = %s\nURL = %s\nSigningRegion = %s\n",
			fmt.Sprint(i), service, region, endpoint.URL, region)
	}
	return map[string]string{"cloud.conf": config, "credentials": string(installed.Credentials["credentials"])}, nil
}

// azureFilesOfPredecessor returns the installer's configuration with the credentials.
func azureFilesOfPredecessor(installed *seed.Example) (map[string]string, error) {
	config := map[string]any{}
	if err := json.Unmarshal([]byte(installed.CloudConfig[seed.CloudConfigKey]), &config); err != nil {
		return nil, fmt.Errorf("the installer's configuration: %w", err)
	}
	maps.Copy(config, map[string]any{
		"aadClientId":                 string(installed.Credentials["azure_client_id"]),
		"aadClientSecret":             string(installed.Credentials["azure_client_secret"]),
		"useManagedIdentityExtension": false,
	})
	content, err := json.Marshal(config)
	return map[string]string{"cloud.conf": string(content)}, err
}

// dropNullTimes removes the creation times that a typed object serializes as null.
func dropNullTimes(object *unstructured.Unstructured) {
	unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(object.Object, "spec", "template", "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(object.Object, "status")
}
