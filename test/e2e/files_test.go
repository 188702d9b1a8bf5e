package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

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

// testFiles checks the files in each container's mount namespace, including a synced one after the file-syncer has
// swapped its directory.
func (s *suite) testFiles(t *testing.T) {
	const (
		syncerToken = revisionedFiles + "/secrets/file-syncer-token/token"
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
			"the cloud-controller-manager can read the file-syncer's token")
	}
	syncers := s.processes(t, syncerBinary, "")
	require.Len(t, syncers, nodes)
	for _, pid := range syncers {
		require.FileExists(t, inProcess(pid, syncerToken))
	}

	damaged := inProcess(syncers[0], syncedFiles+"/configmaps/client-ca/ca-bundle.crt")
	sound, err := os.ReadFile(damaged)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(damaged, []byte("damaged"), 0o600))
	began := time.Now()

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
	s.await(t, "the damaged file to be repaired", time.Until(began.Add(repairLimit)), func(context.Context) error {
		if seen, err := os.ReadFile(damaged); err != nil || !bytes.Equal(seen, sound) {
			return errors.Join(err, errors.New("it is damaged"))
		}
		return nil
	})
	s.figure("synced file damaged to repaired: %s", rounded(began))
	s.await(t, "an event about the repair", briefly, func(ctx context.Context) error {
		events, err := s.kube.CoreV1().Events(targetNamespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=SyncedFilesRepaired"})
		if err != nil {
			return err
		}
		if len(events.Items) != 1 || !strings.HasPrefix(events.Items[0].Message, "The files of configmap/client-ca on node ") {
			return fmt.Errorf("%v", events.Items)
		}
		return nil
	})
	require.ElementsMatch(t, operands, s.processes(t, operandBinary, ""), "no process was restarted")
}
