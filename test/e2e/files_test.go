package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The directories of a container's files.
const (
	revisionedFiles = "/etc/kubernetes/static-pod-resources"
	syncedFiles     = "/etc/kubernetes/static-pod-certs"
)

// inProcess is a file in a process's mount namespace.
func inProcess(pid int, file string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), "root", file)
}

// testFiles checks the files in each container's mount namespace, including a synced one after the cert-syncer has
// swapped its directory.
func (s *suite) testFiles(t *testing.T) {
	const (
		syncerToken = revisionedFiles + "/secrets/cert-syncer-token/token"
		credentials = revisionedFiles + "/secrets/cloud-credentials/clouds.yaml"
		cloudCA     = revisionedFiles + "/configmaps/cloud-config/ca-bundle.pem"
		kubeToken   = syncedFiles + "/secrets/kube-token/token"
	)
	operands := s.processes(t, operandBinary, "")
	require.Len(t, operands, nodes)
	for _, pid := range operands {
		require.FileExists(t, inProcess(pid, credentials))
		require.FileExists(t, inProcess(pid, cloudCA))
		require.NoFileExists(t, inProcess(pid, syncerToken),
			"the cloud-controller-manager can read the cert-syncer's token")
	}
	syncers := s.processes(t, operatorBinary, "cert-syncer")
	require.Len(t, syncers, nodes)
	for _, pid := range syncers {
		require.FileExists(t, inProcess(pid, syncerToken))
		require.NoFileExists(t, inProcess(pid, credentials), "the cert-syncer can read the cloud's credentials")
	}

	secrets := s.kube.CoreV1().Secrets(targetNamespace)
	old, err := secrets.Get(t.Context(), "kube-token", metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, secrets.Delete(t.Context(), "kube-token", metav1.DeleteOptions{}))
	s.await(t, "another token in every cloud-controller-manager", briefly, func(ctx context.Context) error {
		replaced, err := secrets.Get(ctx, "kube-token", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if replaced.UID == old.UID {
			return errors.New("secret/kube-token is the old one")
		}
		for _, pid := range operands {
			seen, err := os.ReadFile(inProcess(pid, kubeToken))
			if err != nil {
				return err
			}
			if !bytes.Equal(seen, replaced.Data["token"]) {
				return fmt.Errorf("process %d sees another token than secret/kube-token has", pid)
			}
		}
		return nil
	})
	require.ElementsMatch(t, operands, s.processes(t, operandBinary, ""), "no process was restarted")
}
