package start

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

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
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/aws"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/vsphere"
)

// anybody is a user to whom an ordinary pod's user is alike: not root.
const anybody = 65534

// trial is a preflight of what an installation on a stand-in for a cloud has.
type trial struct {
	cloud interface {
		ProviderID(name string) string
		SystemUUID(name string) string
		Rotate() error
		Close() error
	}
	in operand.Inputs
}

// trials begin a trial on each platform that has a preflight and whose cloud-controller-manager is built here.
var trials = map[string]func(t *testing.T) *trial{
	"aws": func(t *testing.T) *trial {
		t.Helper()
		s, err := aws.Start(context.WithoutCancel(t.Context()), aws.Options{Listen: "127.0.0.1:0"})
		require.NoError(t, err)
		require.NoError(t, s.SetInstances([]aws.Instance{{Name: nodeName, Addresses: []string{"10.0.0.4"}}}))
		i := s.Installation()
		return &trial{s, installed(t, "aws", &i.Spec, &i.Status, i.CloudConfig, i.Credentials)}
	},
	"openstack": func(t *testing.T) *trial {
		t.Helper()
		s, err := openstack.Start(context.WithoutCancel(t.Context()), openstack.Options{Listen: "127.0.0.1:0"})
		require.NoError(t, err)
		require.NoError(t, s.SetInstances([]aws.Instance{{Name: nodeName, Addresses: []string{"10.0.0.4"}}}))
		i := s.Installation()
		return &trial{s, installed(t, "openstack", &i.Spec, &i.Status, i.CloudConfig, i.Credentials)}
	},
	"vsphere": func(t *testing.T) *trial {
		t.Helper()
		s, err := vsphere.Start(context.WithoutCancel(t.Context()), vsphere.Options{Listen: "127.0.0.1:0"})
		require.NoError(t, err)
		require.NoError(t, s.SetInstances([]vsphere.Instance{{Name: nodeName, Addresses: []string{"10.0.0.4"}}}))
		i := s.Installation()
		return &trial{s, installed(t, "vsphere", &i.Spec, &i.Status, i.CloudConfig, i.Credentials)}
	},
}

// installed returns the inputs of an installation. Nothing is between the control plane and the cloud.
func installed(t *testing.T, name string, spec *configv1.PlatformSpec, status *configv1.PlatformStatus,
	config map[string]string, credentials map[string][]byte,
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
	in.Credentials.Data = credentials
	return in
}

// initialize makes the Node of the trial's machine, as the leader left it.
func (tr *trial) initialize(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { require.NoError(t, tr.cloud.Close()) })
	nodes := kube.CoreV1().Nodes()
	_, err := nodes.Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName},
		Spec:       corev1.NodeSpec{ProviderID: tr.cloud.ProviderID(nodeName)},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, nodes.Delete(context.WithoutCancel(t.Context()), nodeName, metav1.DeleteOptions{}))
	})
	require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := nodes.Get(t.Context(), nodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		node.Status.NodeInfo.SystemUUID = tr.cloud.SystemUUID(nodeName)
		_, err = nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
		return err
	}))
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
	return newHost(t).newContainer(t, pod.Spec, objects{
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
			*lookups = nodecause.Lookups{Ended: true, Nodes: 1, Failed: 1, Error: terminationmessage.Summary(p.log.String())}
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
		if trials[name] == nil {
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
				require.Equal(t, nodecause.Lookups{Ended: true, Nodes: 1}, lookups, p.log.String())
			})
			require.NoError(t, tr.cloud.Rotate())
			t.Run("the credentials are rejected", func(t *testing.T) {
				var lookups nodecause.Lookups
				p := tr.start(t)
				p.await(t, "rejection", p.says(&lookups))
				require.Equal(t, 1, lookups.Failed, p.log.String())
				require.Equal(t, nodecause.Unauthenticated, nodecause.ClassOf(lookups.Error), lookups.Error)
			})
		})
	}
}
