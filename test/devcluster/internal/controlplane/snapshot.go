package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// revisionBump is how much a restore increases etcd's revision: more than what was written since the snapshot, so that
// no resource version means something else than before. OpenShift's restore adds as much.
const revisionBump = 1_000_000_000

// SaveSnapshot writes what etcd has to a file, as etcdctl's snapshot save does.
func (c *ControlPlane) SaveSnapshot(ctx context.Context, path string) (err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.etcdURL+"/v3/maintenance/snapshot",
		strings.NewReader("{}"))
	if err != nil {
		return fmt.Errorf("snapshot of etcd: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("snapshot of etcd: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("snapshot of etcd: %s", response.Status)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("snapshot of etcd: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for parts := json.NewDecoder(response.Body); ; {
		var part struct {
			Result struct{ Blob []byte }
			Error  *struct{ Message string }
		}
		if err := parts.Decode(&part); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("snapshot of etcd: %w", err)
		}
		if part.Error != nil {
			return fmt.Errorf("snapshot of etcd: %s", part.Error.Message)
		}
		if _, err := file.Write(part.Result.Blob); err != nil {
			return fmt.Errorf("snapshot of etcd: %w", err)
		}
	}
}

// RestoreSnapshot replaces the data of etcd, which must not run, as a restore of OpenShift does: watches of before end
// with an error, and clients list again.
func (c *ControlPlane) RestoreSnapshot(ctx context.Context, path string) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if runs(c.etcd) {
		return errors.New("restore of etcd: it runs")
	}
	data := filepath.Join(c.options.Dir, "etcd")
	if err := os.RemoveAll(data); err != nil {
		return fmt.Errorf("restore of etcd: %w", err)
	}
	command := exec.CommandContext(ctx, filepath.Join(c.options.BinDir, "etcdutl"), "snapshot", "restore", path,
		"--data-dir="+data, "--name=devcluster", "--initial-cluster=devcluster="+c.files.etcdPeerURL,
		"--initial-advertise-peer-urls="+c.files.etcdPeerURL, "--mark-compacted",
		fmt.Sprintf("--bump-revision=%d", revisionBump))
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("restore of etcd: %w\n%s", err, output)
	}
	return nil
}
