package e2e

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/alibabacloud"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/aws"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/azure"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/ccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/digitalocean"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/gcp"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/ibm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/permissions"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// cloudAPI is what the stories do with a cloud, as its administrator.
type cloudAPI interface {
	// ProviderID, Region and Zone are what the Node of the machine with a name is to have.
	ProviderID(name string) string
	Region() string
	Zone(name string) string
	// SystemUUID is the UUID of the machine's firmware.
	SystemUUID(name string) string

	// StopInstance stops a machine until StartInstance.
	StopInstance(name string) error
	StartInstance(name string) error
	// DenyInstances makes the cloud deny that any machine exists until it is called with false.
	DenyInstances(denied bool) error

	// Rotate replaces the credentials; the cloud rejects the former ones from then on.
	Rotate() error
	// Credential is the name of the current credentials in the record of Calls, and Credentials the data of the Secret.
	Credential() string
	Credentials() map[string][]byte
	Calls() []devcluster.Call
	// OnlyWriter refuses each call from another address that isRead does not name, and RefusedWrites returns them.
	OnlyWriter(address string, isRead func(endpoint string) bool)
	RefusedWrites() []devcluster.Call

	// Fail makes an endpoint answer with an HTTP status until it is called with 0.
	Fail(endpoint string, status int) error

	// RenewCA returns another CA. The cloud's certificate is signed by it once use is called.
	RenewCA() (bundle []byte, use func() error, err error)
	CABundle() []byte
}

// storyPlatform is a platform whose cloud has a stand-in.
type storyPlatform struct {
	platform configv1.PlatformType
	// secret is the credentials Secret. mintedKeys are the keys that it has in addition to those of the Secret that the
	// installer writes.
	secret     string
	mintedKeys []string
	api        func(*suite) cloudAPI
	// addressTypes are the types of the address that every Node has.
	addressTypes []corev1.NodeAddressType
	// losesHostName says that the cloud-controller-manager removes the host name from the addresses of a Node whose
	// kubelet has --node-ip, once it looks for its machine again.
	losesHostName bool
	// servesNoMetrics says that the cloud-controller-manager serves nothing but its health, without TLS, so that the lease
	// alone says who leads.
	servesNoMetrics bool
	// hasDNS says that every Node has its name as an internal DNS name too.
	hasDNS bool
	// externalAddress returns the external address of the Node of a machine; nil if it has none of its own.
	externalAddress func(name string) string
	// given says that the cloud-controller-manager cannot be built here, so CCM or CCM_IMAGE has to name one.
	given bool
	// hasNoZones says that the cloud's regions have no zones.
	hasNoZones bool
	// federate makes the cloud trust the tokens of a ServiceAccount instead of a secret; nil if no step tests it.
	federate func(*suite) error
	// hasNodeManager says that a cloud-node-manager initializes nodes, by what the instance knows of itself: without
	// credentials.
	hasNodeManager bool
	// readsSecret says that the cloud-controller-manager reads its Secret through the API, so that rotated credentials
	// need no rollout.
	readsSecret bool
	// trustsProxy says that the cloud's CA is trusted because of Proxy, not of the cloud configuration.
	trustsProxy bool
	// permissions is the document that says which calls need which permission of the platform's CredentialsRequest, and
	// free reports whether a call needs none. They are unset if the permissions have no names that can be compared.
	permissions string
	free        func(endpoint string) bool
	// asksOnce says that the cloud-controller-manager asks the cloud for an instance until its Node is initialized, and
	// then takes for granted that it exists and runs. A Node goes with its Machine then, not with its instance.
	asksOnce bool
	// registersID says that the kubelets register with a providerID, because the cloud-controller-manager initializes no
	// other Nodes.
	registersID bool
	// remembersNames says that the cloud-controller-manager takes a Node that registers again for known, so that only a
	// new machine makes it ask the cloud.
	remembersNames bool
	// binary is the name of the cloud-controller-manager's program in its image; empty if it is that of the image.
	binary string
	// looksEvery is the period in which the cloud-controller-manager looks for the machines of Nodes, if that is longer
	// than a few seconds.
	looksEvery time.Duration
	// notAsked says that the operator does not ask the cloud-controller-manager for machines, and waits for no announcement
	// of a deletion, because it knows nothing about it.
	notAsked bool
	// described is the endpoint that describes an instance, if the cloud-controller-manager does not notice there that
	// it is stopped.
	described string
}

// storyPlatforms are the platforms by their names in the operator's registry.
var storyPlatforms = map[string]storyPlatform{
	"alibabacloud": {
		platform:     configv1.AlibabaCloudPlatformType,
		secret:       "alibabacloud-cloud-credentials",
		api:          func(s *suite) cloudAPI { return s.AlibabaCloud() },
		addressTypes: []corev1.NodeAddressType{corev1.NodeInternalIP},
		given:        true,
		trustsProxy:  true,
		// PeriodicalSync in node_controller.go, which does not ask whether an instance is stopped.
		looksEvery:      5 * time.Minute,
		registersID:     true,
		servesNoMetrics: true,
		// isProvidedAddrExist in manager.go.
		losesHostName: true,
		described:     alibabacloud.DescribeByID,
		binary:        "cloud-controller-manager",
	},
	"aws": {
		platform:     configv1.AWSPlatformType,
		secret:       "cloud-controller-manager-credentials",
		mintedKeys:   []string{"credentials"},
		api:          func(s *suite) cloudAPI { return s.AWS() },
		addressTypes: []corev1.NodeAddressType{corev1.NodeInternalIP},
		hasDNS:       true,
		federate:     func(s *suite) error { return s.AWS().Federate() },
		permissions:  "aws-permissions.md",
		free:         aws.NeedsNoPermission,
	},
	"azure": {
		platform:     configv1.AzurePlatformType,
		secret:       "azure-cloud-credentials",
		api:          func(s *suite) cloudAPI { return s.Azure() },
		addressTypes: []corev1.NodeAddressType{corev1.NodeInternalIP},
		federate:     func(s *suite) error { return s.Azure().Federate() },
		trustsProxy:  true,

		hasNodeManager: true,
		permissions:    "azure-permissions.md",
		free:           azure.NeedsNoPermission,
		// Its provider v1.36.5 reads the power state from the instance view, which it does not request.
		described: azure.GetMachine,
	},
	"azurestack": {
		platform:     "AzureStack",
		secret:       "azure-cloud-credentials",
		api:          func(s *suite) cloudAPI { return s.Azure() },
		addressTypes: []corev1.NodeAddressType{corev1.NodeInternalIP},
		described:    azure.GetMachine, // see azure

		hasNodeManager: true,
	},
	"digitalocean": {
		platform:        "DigitalOcean",
		secret:          "digitalocean-cloud-credentials",
		api:             func(s *suite) cloudAPI { return s.DigitalOcean() },
		addressTypes:    []corev1.NodeAddressType{corev1.NodeInternalIP},
		externalAddress: digitalocean.PublicAddress,
		given:           true,
		hasNoZones:      true,
		trustsProxy:     true,
	},
	// An administrator gives OpenStack's as spec.custom.
	"external": {
		platform:     configv1.ExternalPlatformType,
		secret:       openstack.ExternalCredentials,
		api:          func(s *suite) cloudAPI { return s.Cloud() },
		addressTypes: []corev1.NodeAddressType{corev1.NodeInternalIP},
		binary:       "openstack-cloud-controller-manager",
		notAsked:     true,
	},
	"gcp": {
		platform:     configv1.GCPPlatformType,
		secret:       "gcp-ccm-cloud-credentials",
		api:          func(s *suite) cloudAPI { return s.GCP() },
		addressTypes: []corev1.NodeAddressType{corev1.NodeInternalIP},
		federate:     func(s *suite) error { return s.GCP().Federate() },
		given:        true,
		trustsProxy:  true,
		// Its provider does not ask whether an instance is stopped (InstanceShutdown in gce_instances.go).
		described:   gcp.GetInstance,
		permissions: "gcp-permissions.md",
		free:        gcp.NeedsNoPermission,
	},
	"ibmcloud": {
		platform: configv1.IBMCloudPlatformType,
		secret:   "ibm-cloud-credentials",
		api:      func(s *suite) cloudAPI { return s.IBM() },
		// Its provider adds the internal address as an external one (nodeAddressesV2 in ibm_instances.go).
		addressTypes: []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP},
		given:        true,
		trustsProxy:  true,
		// InstanceExists and InstanceShutdown in ibm_instances.go.
		asksOnce:  true,
		described: ibm.ListInstances,
	},
	"nutanix": {
		platform:     configv1.NutanixPlatformType,
		secret:       "nutanix-credentials",
		api:          func(s *suite) cloudAPI { return s.Nutanix() },
		addressTypes: []corev1.NodeAddressType{corev1.NodeInternalIP},
		given:        true,
		readsSecret:  true,
	},
	"openstack": {
		platform:     configv1.OpenStackPlatformType,
		secret:       "openstack-cloud-credentials",
		api:          func(s *suite) cloudAPI { return s.Cloud() },
		addressTypes: []corev1.NodeAddressType{corev1.NodeInternalIP},
	},
	"powervs": {
		platform: configv1.PowerVSPlatformType,
		secret:   "ibm-cloud-credentials",
		api:      func(s *suite) cloudAPI { return s.IBM() },
		// See ibmcloud: the fork has the same provider.
		addressTypes: []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP},
		given:        true,
		trustsProxy:  true,
		asksOnce:     true,
		described:    ibm.ListPVMs,
		// populateNodeMetadata in ibm_powervs_client.go.
		remembersNames: true,
		binary:         "ibm-cloud-controller-manager",
	},
	"vsphere": {
		platform:     configv1.VSpherePlatformType,
		secret:       "vsphere-cloud-credentials",
		api:          func(s *suite) cloudAPI { return s.VSphere() },
		addressTypes: []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP},
	},
}

// cloudStory is a cluster on a platform with a cloud.
type cloudStory struct {
	*suite
	storyPlatform
	// name is the platform's in the operator's registry.
	name  string
	cloud cloudAPI
	// bootstrap is the bootstrap node, which has ended after the installation.
	bootstrap *node.Node
	// installed is when the payload was applied.
	installed time.Time
	// crashed is the node that a step has crashed. If another step crashed it too, and changes of the configuration kept
	// its container from running for long, the operator would report a crash loop.
	crashed *node.Node
}

func newStory(s *suite, name string) *cloudStory {
	p := storyPlatforms[name]
	return &cloudStory{suite: s, storyPlatform: p, name: name, cloud: p.api(s)}
}

// TestStory tells what happens to a cluster in its cloud, from the installation on: machines go and stop, the
// credentials are rotated, the CA of the cloud's API is replaced. PLATFORM names one platform; with E2E_LONG it tests
// all of them whose cloud-controller-manager can be built here.
func TestStory(t *testing.T) {
	for _, name := range tested(t) {
		t.Run(name, func(t *testing.T) {
			s := newStory(startSuite(t, devcluster.Options{
				Name: "e2e-story-" + name, Platform: storyPlatforms[name].platform, Nodes: nodes, WithoutPayload: true,
				Progress: os.Stderr, CCM: ccm.Environment(),
			}), name)
			require.NoError(t, s.LoadImages(t.Context()))
			steps := []step{
				{"the bootstrap node initializes the first control-plane node", s.testBootstrap},
				{"the payload takes over from the bootstrap node and initializes every node", s.testInstallation},
				{"a worker joins and is initialized", s.testWorker},
				{"a change rolls out node by node", s.testChange},
				{"rotated credentials leave no use of the former", s.testRotatedCredentials},
				{"the CA of the cloud's API is replaced", s.testRenewedCA},
				{"the stand-in served every call that the cloud had", s.testServed},
				{"the accounts have the rights that they need", func(t *testing.T) { s.requireRights(t, name) }},
			}
			steps = slices.Insert(steps, 4, s.machineSteps()...)
			if _, balances := s.cloud.(balancing); balances {
				steps = slices.Insert(steps, 3, step{"a load balancer follows the nodes", s.testLoadBalancer})
			}
			if other, has := otherBalancers[s.platform]; has {
				steps = slices.Insert(steps, 4, step{other.step, s.testOtherLoadBalancer})
			}
			if _, ages := s.cloud.(aging); ages {
				steps = slices.Insert(steps, 5, step{"a load balancer follows its Service", s.testChangedService})
			}
			if s.federate != nil {
				steps = slices.Insert(steps, len(steps)-2,
					step{"a token of the ServiceAccount replaces the secret", s.testFederatedToken},
					step{"another token reaches the nodes without a rollout", s.testRenewedToken})
			}
			if _, redirects := s.cloud.(redirecting); redirects {
				steps = slices.Insert(steps, len(steps)-2, step{"other endpoints of the cloud are asked alone", s.testEndpoints})
			}
			if s.permissions != "" {
				steps = slices.Insert(steps, len(steps)-1, step{"each call of the cloud has its permission", s.testPermissions})
			}
			s.runSteps(t, s.recorded(t, s.recordBuild(t), steps))
		})
	}
}

// machineSteps are the steps in which machines end, or seem to.
func (s *cloudStory) machineSteps() []step {
	if s.asksOnce {
		return []step{
			{"the Node of a deleted instance stays until its Machine's controller deletes it", s.testUnnoticedDeletion},
			{"the Node of a stopped instance stays", s.testStoppedInstance},
			{"a Node registers while the cloud's API is down", s.testRegistrationInOutage},
			{"a lie of the cloud costs no Node", s.testUnheardLie},
		}
	}
	if s.looksEvery > 0 {
		return []step{
			{"the Node of a deleted instance goes", s.testDeletedInstance},
			{"the Node of a stopped instance stays", s.testStoppedInstance},
			{"a Node registers while the cloud's API is down", s.testRegistrationInOutage},
			{"a lie of the cloud costs at most one of two silent Nodes", s.testRareLie},
		}
	}
	lie := step{"a lie of the cloud costs no Node", s.testLie}
	if s.notAsked {
		lie = step{"a lie of the cloud costs at most one of two silent Nodes", s.testRareLie}
	}
	return []step{
		{"the Node of a deleted instance goes", s.testDeletedInstance},
		{"the Node of a stopped instance stays", s.testStoppedInstance},
		{"the Node of a stopped machine stays while the cloud's API is down", s.testCloudOutage},
		lie,
	}
}

// tested returns the platforms that the environment selects. It skips the test if it selects none.
func tested(t *testing.T) []string {
	t.Helper()
	names := slices.Sorted(maps.Keys(storyPlatforms))
	wanted, given := strings.ToLower(os.Getenv("PLATFORM")), !ccm.Environment().Empty()
	switch {
	case wanted != "":
		require.Contains(t, names, wanted, "PLATFORM: no stand-in for this platform's cloud")
		require.False(t, storyPlatforms[wanted].given && !given,
			"%s: its cloud-controller-manager cannot be built here: set %s to its binary", wanted, ccm.BinaryVariable)
		return []string{wanted}
	case given:
		require.Fail(t, "CCM is set, so PLATFORM must name its platform")
	case os.Getenv("E2E_LONG") == "":
		t.Skip("neither PLATFORM nor E2E_LONG is set: this takes five minutes or more for each platform")
	}
	return slices.DeleteFunc(names, func(name string) bool { return storyPlatforms[name].given })
}

// testInstallation applies the payload while the bootstrap node still runs. That it ends must change nothing.
func (s *cloudStory) testInstallation(t *testing.T) {
	s.monitor.Expect(monitor.Rollout("the first revision"))
	managers := s.nodeManagers(t)
	s.bootOthers(t)
	began := time.Now()
	s.installed = began
	require.NoError(t, s.InstallPayload(t.Context()))
	require.Equal(t, int32(1), s.awaitSettled(t, 1, rolloutLimit))
	s.figure("payload applied to Available on %d nodes at revision 1: %s", nodes, rounded(began))
	for _, n := range s.Nodes() {
		s.awaitInitialized(t, n)
	}
	s.figure("payload applied to %d initialized nodes: %s", nodes, rounded(began))
	s.requireOneLeader(t)

	_, before, err := s.leader(t.Context())
	require.NoError(t, err)
	containers := s.operands.containers()
	began = time.Now()
	s.endBootstrap(t)
	s.figure("end of the bootstrap node: %s", rounded(began))
	require.Equal(t, int32(1), s.awaitSettled(t, 1, briefly))
	s.requireOneLeader(t)
	_, after, err := s.leader(t.Context())
	require.NoError(t, err)
	require.Equal(t, before.Spec.HolderIdentity, after.Spec.HolderIdentity)
	require.Equal(t, containers, s.operands.containers(), "no container was restarted")
	for _, n := range s.Nodes() {
		s.awaitInitialized(t, n)
	}
	require.Equal(t, managers, s.nodeManagers(t), "the operator took the bootstrap node's DaemonSet over as it was")
}

// nodeManagers returns the UIDs of the cloud-node-manager's pods by node.
func (s *cloudStory) nodeManagers(t *testing.T) map[string]types.UID {
	t.Helper()
	pods, err := s.kube.CoreV1().Pods(targetNamespace).List(t.Context(),
		metav1.ListOptions{LabelSelector: "k8s-app=azure-cloud-node-manager"})
	require.NoError(t, err)
	found := map[string]types.UID{}
	for _, pod := range pods.Items {
		found[pod.Spec.NodeName] = pod.UID
	}
	return found
}

// testWorker adds a machine that is no control-plane node. It stays until the end.
func (s *cloudStory) testWorker(t *testing.T) {
	revision, leader, containers := s.revision(t), s.requireOneLeader(t), s.operands.containers()
	registered, err := s.kube.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{ResourceVersion: s.nodesVersion(t)})
	require.NoError(t, err)
	defer registered.Stop()
	began := time.Now()
	worker, err := s.AddWorker(t.Context())
	require.NoError(t, err)
	s.awaitInitialized(t, worker)
	s.figure("worker's machine started to its Node initialized: %s", rounded(began))
	first := s.firstOf(t, registered, worker.Name())
	require.True(t, hasTaint(first, uninitialized), "it registered with the taints %v", first.Spec.Taints)
	s.requireRegistered(t, first)
	s.requireInitializer(t, worker, s.Node(leader))
	s.await(t, worker.Name()+" to be Ready", briefly,
		func(ctx context.Context) error { return s.ready(ctx, worker.Name()) })
	s.figure("worker's machine started to its Node Ready: %s", rounded(began))

	require.Equal(t, revision, s.awaitSettled(t, revision, briefly))
	require.Equal(t, leader, s.requireOneLeader(t))
	require.Equal(t, containers, s.operands.containers(), "no container was restarted")
	s.requireNoStaticPod(t, worker)
}

// nodesVersion returns the resource version after which a watch has every later change of a Node.
func (s *suite) nodesVersion(t *testing.T) string {
	t.Helper()
	list, err := s.kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return list.ResourceVersion
}

// firstOf returns the first version of a Node in a watch.
func (s *suite) firstOf(t *testing.T, events watch.Interface, name string) *corev1.Node {
	t.Helper()
	limit := time.After(briefly)
	for {
		select {
		case event, open := <-events.ResultChan():
			require.True(t, open, "the watch ended before %s registered", name)
			if object, is := event.Object.(*corev1.Node); is && object.Name == name {
				return object
			}
		case <-limit:
			require.Failf(t, "timed out", "%s did not register", name)
		}
	}
}

// requireNoStaticPod checks that the operator leaves a node alone that is no control-plane node. A cloud-node-manager
// runs on every node.
func (s *cloudStory) requireNoStaticPod(t *testing.T, worker *node.Node) {
	t.Helper()
	require.Empty(t, names(t, filepath.Join(worker.Root(), "etc", "kubernetes", "manifests")))
	require.NoDirExists(t, filepath.Join(worker.Root(), "etc", "kubernetes", "static-pod-resources"))
	pods, err := s.kube.CoreV1().Pods(targetNamespace).List(t.Context(),
		metav1.ListOptions{FieldSelector: "spec.nodeName=" + worker.Name()})
	require.NoError(t, err)
	for _, pod := range pods.Items {
		owner := metav1.GetControllerOf(&pod)
		require.True(t, s.hasNodeManager && owner != nil && owner.Kind == "DaemonSet", "pod/%s", pod.Name)
	}
	resource, err := s.resource(t.Context())
	require.NoError(t, err)
	for _, status := range resource.Status.NodeStatuses {
		require.NotEqual(t, worker.Name(), status.NodeName)
	}
}

// testChange stores a picture of the installation and of the first rollout.
func (s *cloudStory) testChange(t *testing.T) {
	s.expectRollout("the log level is changed")
	began := time.Now()
	s.setLogLevel(t)
	require.Equal(t, int32(2), s.awaitSettled(t, 2, rolloutLimit))
	s.figure("change of the log level to %d nodes at revision 2: %s", nodes, rounded(began))
	s.requireOneLeader(t)
	for _, n := range s.Nodes() {
		if !slices.Contains(s.ControlPlane(), n) {
			s.requireNoStaticPod(t, n)
		}
	}
	if s.platform == configv1.OpenStackPlatformType {
		s.recordRollout(t, s.installed)
	}
}

func (s *cloudStory) awaitInitialized(t *testing.T, n *node.Node) {
	t.Helper()
	s.await(t, n.Name()+" to have what the cloud knows of it", briefly+s.looksEvery,
		func(ctx context.Context) error { return s.isInitialized(ctx, n) })
}

// isInitialized returns nil when a Node has the cloud's data and no taint.
func (s *cloudStory) isInitialized(ctx context.Context, n *node.Node) error {
	object, err := s.kube.CoreV1().Nodes().Get(ctx, n.Name(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	if hasTaint(object, uninitialized) {
		return fmt.Errorf("%s has the taint %s", n.Name(), uninitialized)
	}
	if want := s.cloud.ProviderID(n.Name()); object.Spec.ProviderID != want {
		return fmt.Errorf("%s has the providerID %q, not %q", n.Name(), object.Spec.ProviderID, want)
	}
	if want := s.cloud.SystemUUID(n.Name()); object.Status.NodeInfo.SystemUUID != want {
		return fmt.Errorf("%s has the systemUUID %q, not %q", n.Name(), object.Status.NodeInfo.SystemUUID, want)
	}
	return cmp.Or(s.hasLabels(object), s.hasAddresses(object, n))
}

// hasLabels returns nil when a Node has the labels of its machine.
func (s *cloudStory) hasLabels(object *corev1.Node) error {
	for label, want := range map[string]string{
		corev1.LabelTopologyRegion: s.cloud.Region(), corev1.LabelTopologyZone: s.cloud.Zone(object.Name),
	} {
		missing := want == "" && (label != corev1.LabelTopologyZone || !s.hasNoZones)
		if has := object.Labels[label]; has != want || missing {
			return fmt.Errorf("%s has the label %s=%q, not %q", object.Name, label, has, want)
		}
	}
	if object.Labels[corev1.LabelInstanceTypeStable] == "" {
		return fmt.Errorf("%s has no label %s", object.Name, corev1.LabelInstanceTypeStable)
	}
	return nil
}

// hasAddresses returns nil when a Node has the address of its machine in each form of its cloud, and its name.
func (s *cloudStory) hasAddresses(object *corev1.Node, n *node.Node) error {
	want := map[corev1.NodeAddressType]string{corev1.NodeHostName: n.Name()}
	for _, kind := range s.addressTypes {
		want[kind] = n.IP()
	}
	if s.hasDNS {
		want[corev1.NodeInternalDNS] = n.Name()
	}
	if s.externalAddress != nil {
		want[corev1.NodeExternalIP] = s.externalAddress(n.Name())
	}
	has := map[corev1.NodeAddressType]string{}
	for _, address := range object.Status.Addresses {
		has[address.Type] = address.Address
	}
	if s.losesHostName {
		delete(has, corev1.NodeHostName)
		delete(want, corev1.NodeHostName)
	}
	if !maps.Equal(has, want) {
		return fmt.Errorf("%s has the addresses %v, not %v", n.Name(), has, want)
	}
	return nil
}

func hasTaint(object *corev1.Node, key string) bool {
	return slices.ContainsFunc(object.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == key })
}

// testDeletedInstance deletes a machine in the cloud. Its replacement has another name.
func (s *cloudStory) testDeletedInstance(t *testing.T) {
	revision := s.revision(t)
	lost := s.follower(t, s.requireOneLeader(t)).Name()
	s.monitor.Expect(monitor.NodeDeleted(lost, "its instance is deleted"))
	require.NoError(t, s.RemoveNode(t.Context(), lost))
	began := time.Now()
	limit := s.noticed()
	if s.hasNodeManager || s.notAsked {
		limit += turn // The operator lets one Node go at a time there, and the step before has deleted another one.
	}
	s.await(t, "node/"+lost+" to be deleted", limit, func(ctx context.Context) error {
		return gone(s.exists(ctx, lost))
	})
	s.figure("instance deleted to its Node deleted: %s", rounded(began))

	began = time.Now()
	added, err := s.AddNode(t.Context())
	require.NoError(t, err)
	require.Equal(t, revision, s.awaitSettled(t, revision, rolloutLimit))
	s.awaitInitialized(t, added)
	s.figure("another machine started to clean on %d nodes: %s", nodes, rounded(began))
}

// noticed is how long the cloud-controller-manager may take to act on what it notices: in the second of two passes, if
// the operator has to permit it after the first.
func (s *cloudStory) noticed() time.Duration { return max(goneLimit, 2*s.looksEvery+harness) }

// cloudTokens is the Secret with the federated tokens.
const cloudTokens = "cloud-tokens"

// shutdown is the taint of a Node whose instance exists but does not run. It shows that the cloud was asked.
const shutdown = "node.cloudprovider.kubernetes.io/shutdown"

// testStoppedInstance stops a machine in the cloud and starts it again.
func (s *cloudStory) testStoppedInstance(t *testing.T) {
	revision := s.revision(t)
	stopped := s.follower(t, s.requireOneLeader(t))
	before, err := s.kube.CoreV1().Nodes().Get(t.Context(), stopped.Name(), metav1.GetOptions{})
	require.NoError(t, err)
	s.crashed = stopped
	require.NoError(t, s.cloud.StopInstance(stopped.Name()))
	require.NoError(t, stopped.Kill())
	s.awaitStopped(t, stopped)

	require.NoError(t, s.cloud.StartInstance(stopped.Name()))
	require.NoError(t, stopped.Restart(t.Context()))
	began := time.Now()
	s.await(t, stopped.Name()+" to lose the taint "+shutdown, briefly, s.isTainted(stopped, false))
	require.Equal(t, revision, s.awaitSettled(t, revision, rolloutLimit))
	s.awaitInitialized(t, stopped)
	s.figure("instance started to clean: %s", rounded(began))
	after, err := s.kube.CoreV1().Nodes().Get(t.Context(), stopped.Name(), metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, before.UID, after.UID, "the Node stayed")
}

// awaitStopped waits until the cloud-controller-manager has noticed what it can of a stopped instance.
func (s *cloudStory) awaitStopped(t *testing.T, stopped *node.Node) {
	t.Helper()
	switch {
	case s.asksOnce:
		s.awaitNotReady(t, stopped)
	case s.described != "":
		s.awaitAsked(t, stopped)
	default:
		began := time.Now()
		s.await(t, stopped.Name()+" to have the taint "+shutdown, briefly, s.isTainted(stopped, true))
		s.figure("instance stopped to the taint of its Node: %s", rounded(began))
	}
}

// awaitAsked waits until the cloud has told about a machine since its Node is not Ready.
func (s *cloudStory) awaitAsked(t *testing.T, stopped *node.Node) {
	t.Helper()
	s.awaitNotReady(t, stopped)
	began := time.Now()
	s.await(t, "the cloud to be asked about "+stopped.Name(), s.noticed(), func(context.Context) error {
		for _, call := range s.cloud.Calls() {
			if call.Endpoint == s.described && call.Time.After(began) && call.Status == http.StatusOK {
				return nil
			}
		}
		return errors.New("it was not asked")
	})
	s.figure("Node of a stopped instance not Ready to an answer of the cloud: %s", rounded(began))
}

func (s *cloudStory) awaitNotReady(t *testing.T, stopped *node.Node) {
	t.Helper()
	s.await(t, stopped.Name()+" not to be Ready", briefly, func(ctx context.Context) error {
		if s.ready(ctx, stopped.Name()) == nil {
			return errors.New("it is Ready")
		}
		return nil
	})
}

func (s *cloudStory) isTainted(n *node.Node, wanted bool) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		object, err := s.kube.CoreV1().Nodes().Get(ctx, n.Name(), metav1.GetOptions{})
		if err == nil && hasTaint(object, shutdown) != wanted {
			err = fmt.Errorf("it has the taints %v", object.Spec.Taints)
		}
		return err
	}
}

// testCloudOutage ends a machine while the cloud answers every request with an error, so nobody knows whether it exists.
func (s *cloudStory) testCloudOutage(t *testing.T) {
	revision := s.revision(t)
	stopped := s.uncrashedFollower(t)
	require.NoError(t, s.cloud.Fail(devcluster.AllEndpoints, http.StatusServiceUnavailable))
	require.NoError(t, stopped.Kill())
	s.awaitNotReady(t, stopped)
	began := time.Now()
	const asked = 3
	s.await(t, "the cloud to be asked", briefly, func(context.Context) error {
		if n := s.refusedSince(began); n < asked {
			return fmt.Errorf("it was asked %d times", n)
		}
		return nil
	})
	s.figure("Node not Ready to %d requests that the cloud did not answer: %s", asked, rounded(began))
	object, err := s.kube.CoreV1().Nodes().Get(t.Context(), stopped.Name(), metav1.GetOptions{})
	require.NoError(t, err)
	require.False(t, hasTaint(object, shutdown))

	require.NoError(t, s.cloud.Fail(devcluster.AllEndpoints, 0))
	require.NoError(t, stopped.Restart(t.Context()))
	began = time.Now()
	require.Equal(t, revision, s.awaitSettled(t, revision, rolloutLimit))
	s.figure("machine and cloud back to clean: %s", rounded(began))
}

// uncrashedFollower returns a follower, if possible one that no step has crashed.
func (s *cloudStory) uncrashedFollower(t *testing.T) *node.Node {
	t.Helper()
	followers := s.followers(t, s.requireOneLeader(t))
	return followers[max(0, slices.IndexFunc(followers, func(n *node.Node) bool { return n != s.crashed }))]
}

// refusedSince returns how many calls the cloud has refused because of an outage.
func (s *cloudStory) refusedSince(since time.Time) int {
	refused := 0
	for _, call := range s.cloud.Calls() {
		if call.Time.After(since) && call.Status == http.StatusServiceUnavailable {
			refused++
		}
	}
	return refused
}

// testRotatedCredentials replaces the credentials in the cloud and in the Secret.
func (s *cloudStory) testRotatedCredentials(t *testing.T) { s.rotate(t, s.cloud.Rotate) }

// testFederatedToken makes the cloud trust a token that the operator requests and keeps fresh.
func (s *cloudStory) testFederatedToken(t *testing.T) {
	s.rotate(t, func() error { return s.federate(s.suite) })
}

// testRenewedToken makes the operator request another federated token, as it does after a third of its lifetime.
func (s *cloudStory) testRenewedToken(t *testing.T) {
	revision, containers := s.revision(t), s.operands.containers()
	secrets := s.kube.CoreV1().Secrets(targetNamespace)
	former, err := secrets.Get(t.Context(), cloudTokens, metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, secrets.Delete(t.Context(), cloudTokens, metav1.DeleteOptions{}))
	began := time.Now()
	s.await(t, "every control-plane node to have another token", briefly, func(ctx context.Context) error {
		for _, n := range s.ControlPlane() {
			token, err := os.ReadFile(filepath.Join(n.Root(), synced, "secrets", cloudTokens, "token"))
			if err != nil {
				return err
			}
			if len(token) == 0 || bytes.Equal(token, former.Data["token"]) {
				return fmt.Errorf("%s has none", n.Name())
			}
		}
		return nil
	})
	s.figure("federated token deleted to another one on every node: %s", rounded(began))
	s.reinitialize(t, "with another token")
	require.Equal(t, revision, s.revision(t))
	require.Equal(t, containers, s.operands.containers(), "no container was restarted")
}

// rotate replaces the credentials as change does. The record of the cloud shows who used which. A Node that registers
// before the Secret has the new ones waits for them.
func (s *cloudStory) rotate(t *testing.T, change func() error) {
	t.Helper()
	before, former := s.revision(t), s.cloud.Credential()
	waiting := s.follower(t, s.requireOneLeader(t))
	require.NoError(t, change())
	rotated := time.Now()
	if !s.hasNodeManager {
		waiting = s.awaitRejection(t, former, rotated)
	}

	began := time.Now()
	settled := s.deliver(t, waiting, before)
	s.awaitInitialized(t, waiting)
	s.dismiss(t, waiting)
	s.reinitialize(t, "with the new credentials")
	last := s.lastUse(t, former, rotated)
	require.False(t, last.After(settled), "the former credentials were used at %s, after the rollout at %s", last, settled)
	if last.Before(began) {
		s.figure("the former credentials were never used again")
		return
	}
	s.figure("credentials in the Secret to the last use of the former: %s", last.Sub(began).Round(100*time.Millisecond))
}

// deliver writes the new credentials to the Secret, and returns when they have reached every node: after a rollout, or
// once the cloud-controller-manager that reads the Secret has initialized a Node with them.
func (s *cloudStory) deliver(t *testing.T, waiting *node.Node, before int32) time.Time {
	t.Helper()
	if s.readsSecret {
		containers := s.operands.containers()
		s.setSecret(t, s.secret, s.cloud.Credentials())
		began := time.Now()
		s.awaitInitialized(t, waiting)
		s.figure("credentials rotated to a Node that they initialized: %s", rounded(began))
		require.Equal(t, before, s.awaitSettled(t, before, briefly))
		require.Equal(t, containers, s.operands.containers(), "no container was restarted")
		return time.Now()
	}
	s.expectRollout("the credentials are rotated")
	s.operands.sample()
	s.setSecret(t, s.secret, s.cloud.Credentials())
	began := time.Now()
	require.Equal(t, before+1, s.awaitSettled(t, before+1, rolloutLimit))
	s.figure("credentials rotated to %d nodes at the new revision: %s", nodes, rounded(began))
	settled := time.Now()
	s.operands.requireServing(t)
	return settled
}

// awaitRejection returns a Node that has made the leader use the former credentials in vain.
func (s *cloudStory) awaitRejection(t *testing.T, former string, rotated time.Time) *node.Node {
	t.Helper()
	before := s.revision(t)
	waiting, _ := s.registerUnknown(t)
	s.await(t, "the cloud to reject the former credentials", briefly, func(context.Context) error {
		if s.lastUse(t, former, rotated).IsZero() {
			return errors.New("they were not used")
		}
		return nil
	})
	require.Equal(t, before, s.awaitSettled(t, before, briefly))
	require.Error(t, s.isInitialized(t.Context(), waiting))
	return waiting
}

// lastUse returns when credentials were last used since a rotation, zero if they were not. Each use must be rejected.
func (s *cloudStory) lastUse(t *testing.T, credential string, rotated time.Time) time.Time {
	t.Helper()
	var last time.Time
	for _, call := range s.cloud.Calls() {
		if call.Credential == credential && call.Time.After(rotated) {
			last = call.Time
			require.GreaterOrEqual(t, call.Status, http.StatusBadRequest, "%+v", call)
		}
	}
	return last
}

// testServed checks that the cloud-controller-manager asked for nothing that the stand-in lacks, and counts its calls.
func (s *cloudStory) testServed(t *testing.T) {
	calls := map[string]int{}
	for _, call := range s.cloud.Calls() {
		calls[call.Endpoint]++
	}
	require.Zero(t, calls[devcluster.Unserved], "calls that the stand-in does not serve; its requests.log has them")
	var counted []string
	for _, endpoint := range slices.Sorted(maps.Keys(calls)) {
		counted = append(counted, fmt.Sprintf("%s %d", endpoint, calls[endpoint]))
	}
	s.figure("calls of the cloud: %s", strings.Join(counted, ", "))
}

// testPermissions compares the calls of the story with the permissions that the platform's CredentialsRequest requests.
// Each call needs some of them, and each is needed by a call, unless the document says why the story has none.
func (s *cloudStory) testPermissions(t *testing.T) {
	document, err := os.ReadFile(filepath.Join(s.Repository(), "docs", s.permissions))
	require.NoError(t, err)
	compared := permissions.Compare(document, s.cloud.Calls(), s.free)
	require.Empty(t, compared.Unlisted, "calls without a permission: add their rows and permissions")
	require.Empty(t, compared.Unneeded, "permissions without a call: remove them, or test what needs them")
	s.figure("calls that need a permission: %d; permissions: %d needed, %d for what the story lacks",
		len(compared.Calls), len(compared.Needed), len(compared.Untold))
}

// testRenewedCA replaces the CA as an administrator does: trust both, change the certificate, trust the new one.
func (s *cloudStory) testRenewedCA(t *testing.T) {
	before := s.revision(t)
	s.operands.sample()
	bundle, use, err := s.cloud.RenewCA()
	require.NoError(t, err)
	s.expectRollout("the next CA is trusted too")
	began := s.trust(t, s.cloud.CABundle(), bundle)
	require.Equal(t, before+1, s.awaitSettled(t, before+1, rolloutLimit))
	s.figure("another CA to %d nodes that trust it: %s", nodes, rounded(began))
	require.NoError(t, use())
	s.reinitialize(t, "through the cloud's new certificate")

	s.expectRollout("the former CA is no longer trusted")
	began = s.trust(t, bundle)
	require.Equal(t, before+2, s.awaitSettled(t, before+2, rolloutLimit))
	s.figure("the former CA removed from %d nodes: %s", nodes, rounded(began))
	s.reinitialize(t, "with the new CA alone")
	s.operands.requireServing(t)
}

// trust makes the operator trust these CAs for the cloud, and returns when.
func (s *cloudStory) trust(t *testing.T, bundles ...[]byte) time.Time {
	t.Helper()
	bundle := string(bytes.Join(bundles, nil))
	if s.trustsProxy {
		return s.setConfigKey(t, "user-ca-bundle", "ca-bundle.crt", bundle)
	}
	return s.setConfigKey(t, s.cloudConfigName(), "ca-bundle.pem", bundle)
}

// reinitialize makes the leader ask the cloud for a Node.
func (s *cloudStory) reinitialize(t *testing.T, how string) {
	t.Helper()
	revision := s.revision(t)
	n, began := s.registerUnknown(t)
	s.awaitInitialized(t, n)
	s.figure("Node registered %s to initialized %s: %s", s.howRegistered(), how, rounded(began))
	s.dismiss(t, n)
	require.Equal(t, revision, s.awaitSettled(t, revision, rolloutLimit))
}

// registerUnknown returns a Node that the leader has to ask the cloud for, and when its kubelet started: a follower's that
// registers again, or that of another machine, which dismiss removes.
func (s *cloudStory) registerUnknown(t *testing.T) (*node.Node, time.Time) {
	t.Helper()
	if !s.remembersNames {
		n := s.follower(t, s.requireOneLeader(t))
		return n, s.register(t, n)
	}
	began := time.Now()
	n, err := s.AddWorker(t.Context())
	require.NoError(t, err)
	return n, began
}

// howRegistered says which of the Nodes registerUnknown returns.
func (s *cloudStory) howRegistered() string {
	if s.remembersNames {
		return "by another machine"
	}
	return "again"
}

// dismiss removes the machine that registerUnknown added, if it added one.
func (s *cloudStory) dismiss(t *testing.T, n *node.Node) {
	t.Helper()
	if !s.remembersNames || slices.Contains(s.ControlPlane(), n) {
		return
	}
	s.monitor.Expect(monitor.NodeDeleted(n.Name(), "the test removes its machine"))
	require.NoError(t, s.RemoveNode(t.Context(), n.Name()))
	s.deleteNode(t, n.Name())
}

// register deletes a Node, whose kubelet registers it again, and returns when it did.
func (s *cloudStory) register(t *testing.T, n *node.Node) time.Time {
	t.Helper()
	s.monitor.Expect(monitor.NodeDeleted(n.Name(), "the test deletes it"),
		monitor.Uninitialized(n.Name(), "its Node registers again"))
	require.NoError(t, s.kube.CoreV1().Nodes().Delete(t.Context(), n.Name(), metav1.DeleteOptions{}))
	require.NoError(t, n.RestartKubelet(t.Context()))
	return time.Now()
}
