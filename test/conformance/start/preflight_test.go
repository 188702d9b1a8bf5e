package start

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/aws"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/azure"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/digitalocean"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/gcp"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/ibm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/nutanix"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/vsphere"
)

// anybody is a user to whom an ordinary pod's user is alike: not root.
const anybody = 65534

// trial is a preflight of what an installation on a stand-in for a cloud has.
type trial struct {
	cloud standIn
	in    operand.Inputs
	// lookup is the endpoint that shows what the account may do.
	lookup string
	// secret is the Secret that the provider reads through the API, if it does.
	secret string
}

// standIn is a stand-in for a cloud.
type standIn interface {
	SetInstances([]aws.Instance) error
	ProviderID(name string) string
	SystemUUID(name string) string
	Fail(endpoint string, status int) error
	DenyInstances(denied bool) error
	Rotate() error
	RenewCA() (bundle []byte, use func() error, err error)
	Requests() map[string]int
	Close() error
}

// reads match the endpoints of the stand-ins by which a client changes nothing: it reads, logs in or ends its session.
var reads = regexp.MustCompile(`^(GET|LIST|OPTIONS|Describe|Retrieve|Find|Log|CreateToken)|\.(get|list)$|[Tt]oken|[Ss]ession|tag-association`)

// requireReads checks that the cloud was only read.
func (tr *trial) requireReads(t *testing.T) {
	t.Helper()
	for endpoint := range tr.cloud.Requests() {
		require.Regexp(t, reads, endpoint)
	}
}

// trials begin a trial on each platform that has a preflight.
var trials = map[string]func(t *testing.T) *trial{
	"aws": func(t *testing.T) *trial {
		t.Helper()
		s, err := aws.Start(context.WithoutCancel(t.Context()), aws.Options{Listen: "127.0.0.1:0"})
		require.NoError(t, err)
		i := s.Installation()
		return &trial{cloud: s, lookup: aws.DescribeInstances, in: installed(t, "aws", &i.Spec, &i.Status, i.CloudConfig, i.TrustedCA, i.Credentials)}
	},
	"azure":      azureTrial("azure", false),
	"azurestack": azureTrial("azurestack", true),
	"digitalocean": func(t *testing.T) *trial {
		t.Helper()
		s, err := digitalocean.Start(context.WithoutCancel(t.Context()), digitalocean.Options{Listen: named})
		require.NoError(t, err)
		i := s.Installation()
		return &trial{cloud: s, lookup: digitalocean.GetDroplet, in: installed(t, "digitalocean", &i.Spec, &i.Status, i.CloudConfig, i.TrustedCA, i.Credentials)}
	},
	"gcp": func(t *testing.T) *trial {
		t.Helper()
		s, err := gcp.Start(context.WithoutCancel(t.Context()), gcp.Options{Listen: named})
		require.NoError(t, err)
		i := s.Installation()
		return &trial{cloud: s, lookup: gcp.GetInstance, in: installed(t, "gcp", &i.Spec, &i.Status, i.CloudConfig, i.TrustedCA, i.Credentials)}
	},
	"ibmcloud": func(t *testing.T) *trial {
		t.Helper()
		s, err := ibm.Start(context.WithoutCancel(t.Context()), ibm.Options{Listen: named})
		require.NoError(t, err)
		i := s.Installation()
		return &trial{cloud: s, lookup: ibm.ListInstances, in: installed(t, "ibmcloud", &i.Spec, &i.Status, i.CloudConfig, i.TrustedCA, i.Credentials)}
	},
	"nutanix": func(t *testing.T) *trial {
		t.Helper()
		s, err := nutanix.Start(context.WithoutCancel(t.Context()), nutanix.Options{Listen: "127.0.0.1:0"})
		require.NoError(t, err)
		i := s.Installation()
		in := installed(t, "nutanix", &i.Spec, &i.Status, i.CloudConfig, i.TrustedCA, i.Credentials)
		return &trial{cloud: s, lookup: nutanix.GetVM, in: in, secret: in.Platform.Credentials.Secret}
	},
	"openstack": func(t *testing.T) *trial {
		t.Helper()
		s, err := openstack.Start(context.WithoutCancel(t.Context()), openstack.Options{Listen: "127.0.0.1:0"})
		require.NoError(t, err)
		i := s.Installation()
		return &trial{cloud: s, lookup: openstack.ComputeServer, in: installed(t, "openstack", &i.Spec, &i.Status, i.CloudConfig, i.TrustedCA, i.Credentials)}
	},
	"vsphere": func(t *testing.T) *trial {
		t.Helper()
		s, err := vsphere.Start(context.WithoutCancel(t.Context()), vsphere.Options{Listen: "127.0.0.1:0"})
		require.NoError(t, err)
		i := s.Installation()
		return &trial{cloud: s, lookup: vsphere.FindByUUID, in: installed(t, "vsphere", &i.Spec, &i.Status, i.CloudConfig, i.TrustedCA, i.Credentials)}
	},
}

// named is where the stand-ins listen whose endpoints are fixed names, which have no port.
const named = "127.0.0.2:443"

func azureTrial(name string, stack bool) func(t *testing.T) *trial {
	return func(t *testing.T) *trial {
		t.Helper()
		s, err := azure.Start(context.WithoutCancel(t.Context()), azure.Options{Listen: named, Stack: stack})
		require.NoError(t, err)
		i := s.Installation()
		return &trial{cloud: s, lookup: azure.GetProvider, in: installed(t, name, &i.Spec, &i.Status, i.CloudConfig, i.TrustedCA, i.Credentials)}
	}
}

// installed returns the inputs of an installation. Nothing is between the control plane and the cloud.
func installed(t *testing.T, name string, spec *configv1.PlatformSpec, status *configv1.PlatformStatus,
	config map[string]string, trusted string, credentials map[string][]byte,
) operand.Inputs {
	t.Helper()
	in := inputs(t, name, operand.OperatorPhase())
	var document map[string]any
	require.NoError(t, yaml.Unmarshal(in.Config, &document))
	delete(document, "proxy")
	document["cluster"] = map[string]any{"spec": spec, "status": status}
	var err error
	in.Config, err = json.Marshal(document)
	require.NoError(t, err)
	in.CloudConfig.Data, in.CloudConfig.CABundle = []byte(config["config"]), []byte(config["ca-bundle.pem"])
	if endpoints, has := config["endpoints"]; has {
		in.CloudConfig.Keys = map[string][]byte{"endpoints": []byte(endpoints)}
	}
	if trusted != "" {
		in.Trust = []operand.TrustSource{{Source: "configmap/user-ca-bundle in openshift-config", Key: "ca-bundle.crt", Data: []byte(trusted)}}
	}
	in.Credentials.Data = credentials
	return in
}

// initialize makes the Nodes of the trial's machines, as the leader left them. The first is where the preflight runs.
func (tr *trial) initialize(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { require.NoError(t, tr.cloud.Close()) })
	machines := []aws.Instance{{Name: nodeName, Addresses: []string{nodeAddress}}, {Name: "worker-1", Addresses: []string{"10.0.0.5"}}}
	require.NoError(t, tr.cloud.SetInstances(machines))
	if served, has := tr.cloud.(interface {
		ServeMetadata(ctx context.Context, listener net.Listener)
	}); has {
		served.ServeMetadata(context.WithoutCancel(t.Context()), cloud.handOverMetadata(t))
	}
	if tr.secret != "" {
		secrets := kube.CoreV1().Secrets(operand.Namespace)
		_, err := secrets.Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: tr.secret}, Data: tr.in.Credentials.Data,
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, secrets.Delete(context.WithoutCancel(t.Context()), tr.secret, metav1.DeleteOptions{}))
		})
	}
	nodes := kube.CoreV1().Nodes()
	for _, machine := range machines {
		name := machine.Name
		_, err := nodes.Create(t.Context(), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.NodeSpec{ProviderID: tr.cloud.ProviderID(name)},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, nodes.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}))
		})
		require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
			node, err := nodes.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			node.Status.NodeInfo.SystemUUID = tr.cloud.SystemUUID(name)
			_, err = nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
			return err
		}))
	}
}

// start starts the container of the preflight, as an ordinary pod's user.
func (tr *trial) start(t *testing.T) *process {
	t.Helper()
	leases := kube.CoordinationV1().Leases(operand.Namespace)
	if err := leases.Delete(t.Context(), operand.PreflightName, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		require.NoError(t, err)
	}
	candidate, err := operand.PreflightCandidate(tr.in)
	require.NoError(t, err)
	pod, err := operand.PreflightPodOf(candidate)
	require.NoError(t, err)
	require.Nil(t, pod.Spec.SecurityContext.RunAsUser)
	pod.Spec.SecurityContext.RunAsUser = ptr.To[int64](anybody)
	pod.Spec.ServiceAccountName = "" // its token is projected
	host := newHost(t)
	if named, has := tr.cloud.(interface{ Hosts() map[string]string }); has {
		host.hosts = named.Hosts()
	}
	return host.newContainer(t, pod.Spec, objects{
		"secrets/" + operand.PreflightName:     candidate.Data,
		"secrets/" + operand.CloudTokensSecret: {},
		"projected/kube-token":                 {"token": token(t, operand.PreflightName)},
	}).start(t)
}

// says returns nil once the process has logged how its look-ups ended, and the last error.
func (p *process) says(lookups *nodecause.Lookups) func(context.Context) error {
	return func(context.Context) error {
		*lookups = nodecause.FirstLookups(p.log.String())
		select {
		case <-p.ended:
			*lookups = nodecause.Lookups{Ended: true, Nodes: 1, Failed: 1, Error: terminationmessage.Reason(p.log.String())}
		default:
		}
		if !lookups.Ended {
			return fmt.Errorf("%+v", *lookups)
		}
		return nil
	}
}

func TestAPreflightShowsWhetherItsCloudAccepted(t *testing.T) {
	for _, name := range tested() {
		if p, _ := platform.ByName(name); !p.Preflight {
			continue
		}
		t.Run(name, func(t *testing.T) {
			tr := trials[name](t)
			tr.initialize(t)
			// The process of one ends before the other starts, because both take the same lease.
			t.Run("the credentials are accepted", func(t *testing.T) {
				var lookups nodecause.Lookups
				p := tr.start(t)
				p.await(t, "look-up of the node", p.says(&lookups))
				require.Equal(t, nodecause.Lookups{Ended: true, Nodes: 2}, lookups, p.log.String())
				tr.requireReads(t)
			})
			require.NoError(t, tr.cloud.Rotate())
			t.Run("the credentials are rejected", func(t *testing.T) {
				var lookups nodecause.Lookups
				p := tr.start(t)
				p.await(t, "rejection", p.says(&lookups))
				require.NotZero(t, lookups.Failed, p.log.String())
				require.Equal(t, lookups.Nodes, lookups.Failed, p.log.String())
				require.Equal(t, nodecause.Unauthenticated, nodecause.ClassOf(lookups.Error), lookups.Error)
			})
		})
	}
}

// mistakes are what is wrong with a change or its cloud, and the class that a preflight is to find.
var mistakes = []struct {
	what  string
	class nodecause.Class
	make  func(tr *trial) error
}{
	{"revoked credentials", nodecause.Unauthenticated, func(tr *trial) error { return tr.cloud.Rotate() }},
	{"a missing permission", nodecause.Unauthorized, func(tr *trial) error {
		return tr.cloud.Fail(tr.lookup, http.StatusForbidden)
	}},
	{"an account without these machines", nodecause.UnknownMachine, func(tr *trial) error {
		return tr.cloud.DenyInstances(true)
	}},
	{"a CA that did not sign the cloud's certificate", nodecause.Certificate, func(tr *trial) error {
		other, _, err := tr.cloud.RenewCA()
		if len(tr.in.Trust) > 0 {
			tr.in.Trust[0].Data = other
		} else {
			tr.in.CloudConfig.CABundle = other
		}
		return err
	}},
	{"a closed port", nodecause.Unreachable, func(tr *trial) error { return tr.cloud.Close() }},
}

func TestAPreflightNamesWhatIsWrong(t *testing.T) {
	for _, name := range tested() {
		if p, _ := platform.ByName(name); !p.Preflight {
			continue
		}
		for _, m := range mistakes {
			if name == "azure" && m.class == nodecause.UnknownMachine {
				continue // it looks up no Node
			}
			t.Run(name+": "+m.what, func(t *testing.T) {
				tr := trials[name](t)
				tr.initialize(t)
				require.NoError(t, m.make(tr))
				began := time.Now()
				var lookups nodecause.Lookups
				p := tr.start(t)
				p.await(t, "failure", p.says(&lookups))
				t.Logf("%s after %s: %s", m.class, time.Since(began).Round(100*time.Millisecond), lookups.Error)
				require.NotZero(t, lookups.Failed, p.log.String())
				require.Equal(t, lookups.Nodes, lookups.Failed, p.log.String())
				require.Equal(t, m.class.String(), nodecause.ClassOf(lookups.Error).String(), lookups.Error)
				tr.requireReads(t)
			})
		}
	}
}
