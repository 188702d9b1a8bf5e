package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
)

// objectFaults are objects that others delete or change.
func objectFaults() []fault {
	return []fault{
		{
			name:   "the copies of the running revision are deleted",
			unseen: "nothing reads them again until the next revision, which the operator creates",
			allows: allowance{revisions: 1, deleted: 2,
				why: "the fault itself deletes the revision, and another one replaces it"},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				for _, name := range []string{"cloud-config", "cloud-credentials"} {
					f.deleteSecrets(t, targetNamespace, fmt.Sprintf("%s-%d", name, f.revision))
				}
				f.deleteConfigMaps(t, targetNamespace, fmt.Sprintf("cloud-controller-manager-pod-%d", f.revision))
				f.wanted++
				return nil
			},
		},
		{
			name:   "the status of the running revision is deleted, and with it everything that it owns",
			unseen: "the operator creates the next revision at once",
			allows: allowance{revisions: 1, deleted: 2,
				why: "the fault itself deletes the revision, and another one replaces it"},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.deleteConfigMaps(t, targetNamespace, fmt.Sprintf("revision-status-%d", f.revision))
				f.wanted++
				return nil
			},
		},
		{
			name:   "the objects that revisions are made of are deleted",
			unseen: "the operator writes them again at once",
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.deleteSecrets(t, targetNamespace, "cloud-config", "cloud-credentials", "accepted-inputs")
				f.deleteConfigMaps(t, targetNamespace, "cloud-controller-manager-pod", "cloud-config", "kubeconfigs",
					"trusted-ca")
				f.repaired = func(ctx context.Context) error {
					_, pod := f.kube.CoreV1().ConfigMaps(targetNamespace).Get(ctx, "cloud-controller-manager-pod",
						metav1.GetOptions{})
					_, inputs := f.kube.CoreV1().Secrets(targetNamespace).Get(ctx, "accepted-inputs", metav1.GetOptions{})
					return errors.Join(pod, inputs)
				}
				return nil
			},
		},
		{
			name:   "the serving certificate's signer, its CA and the token are deleted",
			unseen: "the operator issues them again at once, and records an event",
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.deleteSecrets(t, operatorNamespace, "cloud-controller-manager-serving-signer")
				f.deleteConfigMaps(t, targetNamespace, "serving-ca")
				f.deleteSecrets(t, targetNamespace, "serving-cert", kubeToken)
				before := f.serials(t)
				f.repaired = func(ctx context.Context) error {
					for _, n := range f.Nodes() {
						certificate, err := servedCertificate(ctx, n)
						if err != nil {
							return err
						}
						if certificate.SerialNumber.String() == before[n.Name()] {
							return fmt.Errorf("%s serves the former certificate", n.Name())
						}
					}
					return nil
				}
				return nil
			},
		},
		{
			name:   "the ServiceAccounts are deleted",
			unseen: "the operator creates them again at once, and the file-syncer's new token comes with a revision",
			allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				for _, name := range []string{"cloud-controller-manager", "file-syncer", "installer-sa"} {
					require.NoError(t, f.kube.CoreV1().ServiceAccounts(targetNamespace).Delete(t.Context(), name,
						metav1.DeleteOptions{}))
				}
				f.wanted++
				return nil
			},
		},
		{
			name:  "the lease is deleted",
			shows: sign{event: "LeaseRestored", message: `lease/cloud-controller-manager`},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.awaitHeld(t)
				f.began = time.Now()
				require.NoError(t, f.kube.CoordinationV1().Leases(targetNamespace).Delete(t.Context(), operand,
					metav1.DeleteOptions{}))
				holder := f.leader
				// A standby would ask within 57 s.
				return func(t *testing.T) {
					require.Never(t, func() bool {
						node, _, err := f.suite.leader(t.Context())
						return err == nil && node != holder
					}, time.Minute, time.Second, "the holder acts on")
				}
			},
		},
		{
			name:  "the cloud configuration is deleted",
			shows: sign{condition: "CloudConfigDegraded", message: `configmap/cloud-provider-config in openshift-config`},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				client := f.kube.CoreV1().ConfigMaps(configNamespace)
				saved, err := client.Get(t.Context(), "cloud-provider-config", metav1.GetOptions{})
				require.NoError(t, err)
				f.deleteConfigMaps(t, configNamespace, saved.Name)
				saved.ResourceVersion, saved.UID = "", ""
				return func(t *testing.T) {
					_, err := client.Create(context.WithoutCancel(t.Context()), saved, metav1.CreateOptions{})
					require.NoError(t, err)
				}
			},
		},
		{
			name: "an object of a revision cannot be written",
			shows: sign{condition: "TargetConfigControllerDegraded",
				message: `configmap/cloud-controller-manager-pod in ` + targetNamespace + `(.|\n)*the test rejects it`},
			allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				allow, err := f.RejectUpdates(t.Context(), devcluster.UpdateRejection{Resource: "configmaps",
					Namespace: targetNamespace, Name: "cloud-controller-manager-pod", Message: "the test rejects it"})
				require.NoError(t, err)
				f.change(t)
				f.began = time.Now()
				return func(t *testing.T) { require.NoError(t, allow(context.WithoutCancel(t.Context()))) }
			},
		},
		{
			name: "the credentials are deleted",
			shows: sign{condition: "CredentialsDegraded", message: `secret/openstack-cloud-credentials`,
				within: 90 * time.Second,
				why:    "cloud-credential-operator, which owns the Secret, has a minute to create it again"},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				restore := f.saveCredentials(t)
				f.deleteSecrets(t, targetNamespace, "openstack-cloud-credentials")
				return restore
			},
		},
		{
			name:   "the observed configuration is overwritten",
			unseen: "config observation corrects it at once",
			allows: allowance{surplus: 2, why: "the overwritten flags may become a revision before they are corrected"},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.patchResource(t, `{"spec":{"observedConfig":{"extendedArguments":{"v":["9"]},"scribble":true}}}`)
				f.repaired = func(ctx context.Context) error {
					object, err := f.dynamic.Resource(ccmv1.Resource).Get(ctx, ccmv1.InstanceName, metav1.GetOptions{})
					if err != nil {
						return err
					}
					_, found, err := unstructured.NestedFieldNoCopy(object.Object, "spec", "observedConfig", "scribble")
					if err == nil && found {
						err = errors.New("the scribble is still there")
					}
					return err
				}
				return nil
			},
		},
		{
			name:   "the status of the operator's resource is wiped",
			unseen: "every controller writes its part again at once",
			allows: allowance{surplus: 3,
				why: "the number of the latest revision is lost and found again"},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				client := f.dynamic.Resource(ccmv1.Resource)
				f.await(t, "the status to be wiped", briefly, func(ctx context.Context) error {
					object, err := client.Get(ctx, ccmv1.InstanceName, metav1.GetOptions{})
					if err != nil {
						return err
					}
					object.Object["status"] = map[string]any{}
					_, err = client.UpdateStatus(ctx, object, metav1.UpdateOptions{})
					return err
				})
				return nil
			},
		},
		{
			name:   "the operator's resource is deleted",
			unseen: "the cluster-version-operator creates it again; until then there is no status",
			allows: allowance{surplus: 3, unavailable: 10 * time.Second,
				why: "library-go deletes the ClusterOperator with the resource, and the number of the latest revision is " +
					"lost and found again"},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				require.NoError(t, f.dynamic.Resource(ccmv1.Resource).Delete(t.Context(), ccmv1.InstanceName,
					metav1.DeleteOptions{}))
				return f.applyRelease
			},
		},
		{
			name:  "the operand's namespace is deleted",
			shows: sign{condition: "ConfigurationDegraded", message: `namespace.*` + targetNamespace},
			allows: allowance{surplus: 3, deleted: 2, noneReady: reportAgain,
				why: "the fault itself deletes the mirror pods and every revision"},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				restore := f.saveCredentials(t)
				namespaces := f.kube.CoreV1().Namespaces()
				require.NoError(t, namespaces.Delete(t.Context(), targetNamespace, metav1.DeleteOptions{}))
				return func(t *testing.T) {
					f.await(t, "the end of the namespace", briefly, func(ctx context.Context) error {
						_, err := namespaces.Get(ctx, targetNamespace, metav1.GetOptions{})
						return gone(err)
					})
					f.applyRelease(t)
					restore(t)
					// Nothing is left of the latest revision. Until there is another, the nodes seem settled.
					f.wanted = f.revision + 1
				}
			},
		},
	}
}

// applyRelease does what the cluster-version-operator does all the time.
func (f *running) applyRelease(t *testing.T) {
	t.Helper()
	require.NoError(t, f.ApplyRelease(context.WithoutCancel(t.Context()), f.Release()))
}

// saveCredentials returns what cloud-credential-operator does when its Secret is missing.
func (f *running) saveCredentials(t *testing.T) (restore func(*testing.T)) {
	t.Helper()
	client := f.kube.CoreV1().Secrets(targetNamespace)
	saved, err := client.Get(t.Context(), "openstack-cloud-credentials", metav1.GetOptions{})
	require.NoError(t, err)
	saved.ResourceVersion, saved.UID = "", ""
	return func(t *testing.T) {
		_, err := client.Create(context.WithoutCancel(t.Context()), saved, metav1.CreateOptions{})
		require.NoError(t, err)
	}
}

func (f *running) patchResource(t *testing.T, patch string) {
	t.Helper()
	_, err := f.dynamic.Resource(ccmv1.Resource).Patch(t.Context(), ccmv1.InstanceName, types.MergePatchType,
		[]byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
}
