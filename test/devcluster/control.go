package devcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The commands that a running cluster obeys. Those for machines have the name of one.
const (
	// RotateCommand replaces the credentials in the cloud and in their Secret.
	RotateCommand = "rotate"
	// StopCommand stops a machine and StartCommand starts it again, in the cloud too.
	StopCommand  = "stop"
	StartCommand = "start"
	// DeleteCommand ends a machine and deletes it in the cloud. Its Node stays.
	DeleteCommand = "delete"
)

// machineCloud is a cloud that can be told what becomes of its machines and credentials.
type machineCloud interface {
	StopInstance(name string) error
	StartInstance(name string) error
	Rotate() error
}

// controlSocket is the file by which a running cluster is controlled.
func controlSocket(dir string) string { return filepath.Join(dir, "control.sock") }

// ServeControl obeys commands from other processes until the cluster stops.
func (c *Cluster) ServeControl(ctx context.Context) error {
	if err := os.MkdirAll(c.options.Dir, 0o755); err != nil {
		return fmt.Errorf("control of the cluster: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", controlSocket(c.options.Dir))
	if err != nil {
		return fmt.Errorf("control of the cluster: %w", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(c.obey), ReadHeaderTimeout: registerLimit}
	go func() { _ = server.Serve(listener) }() // Close ends it
	c.atStop(func(context.Context) error { return server.Close() })
	return nil
}

// obey performs the command in the path of a request: /command or /command/machine.
func (c *Cluster) obey(w http.ResponseWriter, r *http.Request) {
	command, machine, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	// A client that is interrupted must not leave a machine that has half started.
	done, err := c.perform(context.WithoutCancel(r.Context()), command, machine)
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	fmt.Fprintln(w, done)
}

func (c *Cluster) perform(ctx context.Context, command, machine string) (done string, err error) {
	cloud, has := c.cloud.(machineCloud)
	if !has {
		return "", fmt.Errorf("the cloud of %s has no stand-in", c.options.Platform)
	}
	if command == RotateCommand {
		return c.rotate(ctx, cloud)
	}
	found := c.Node(machine)
	if found == nil {
		return "", fmt.Errorf("machine %q does not exist; there are %v", machine, c.machineNames())
	}
	switch command {
	case StopCommand:
		return machine + " is stopped", errors.Join(cloud.StopInstance(machine), found.Kill())
	case StartCommand:
		if found.PID() != 0 {
			return machine + " runs", cloud.StartInstance(machine)
		}
		return machine + " runs", errors.Join(cloud.StartInstance(machine), found.Restart(ctx))
	case DeleteCommand:
		return machine + " is deleted", c.RemoveNode(ctx, machine)
	}
	return "", fmt.Errorf("unknown command %q", command)
}

// rotate replaces the credentials, and writes the new ones as the cloud-credential-operator does.
func (c *Cluster) rotate(ctx context.Context, cloud machineCloud) (string, error) {
	if err := cloud.Rotate(); err != nil {
		return "", err
	}
	rotated := c.credentialsSecret()
	secrets := c.client.CoreV1().Secrets(rotated.Namespace)
	current, err := secrets.Get(ctx, rotated.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = secrets.Create(ctx, rotated, metav1.CreateOptions{})
	} else if err == nil {
		current.Data = rotated.Data
		_, err = secrets.Update(ctx, current, metav1.UpdateOptions{})
	}
	return "the cloud rejects the former credentials; the new ones are in secret/" + rotated.Name, err
}

func (c *Cluster) machineNames() []string {
	var names []string
	for _, n := range c.Nodes() {
		names = append(names, n.Name())
	}
	return names
}

// Control tells a running cluster to perform a command, and returns what it has done. machine is empty for commands
// that are for none.
func Control(ctx context.Context, options Options, command, machine string) (string, error) {
	options, err := options.withDefaults()
	if err != nil {
		return "", err
	}
	socket := controlSocket(options.Dir)
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"http://cluster/"+command+"/"+machine, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return "", fmt.Errorf("no cluster named %q runs: start it, or name another one by --name", options.Name)
	}
	if err != nil {
		return "", fmt.Errorf("cluster %q: %w", options.Name, errors.Unwrap(err))
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	text := strings.TrimSpace(string(answer))
	if err == nil && response.StatusCode != http.StatusOK {
		return "", errors.New(text)
	}
	return text, err
}

// UnservedCalls returns the lines about calls that a cluster's stand-in did not serve, from its record.
func UnservedCalls(options Options) ([]string, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	logs, err := filepath.Glob(filepath.Join(options.Dir, "*", "requests.log"))
	if err != nil {
		return nil, err
	}
	if len(logs) == 0 {
		return nil, fmt.Errorf("no stand-in of a cluster named %q has a record", options.Name)
	}
	var unserved []string
	for _, path := range logs {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("record of the stand-in: %w", err)
		}
		for line := range bytes.Lines(content) {
			if fields := strings.Fields(string(line)); len(fields) > 2 && fields[2] == Unserved {
				unserved = append(unserved, strings.TrimSpace(string(line)))
			}
		}
	}
	return unserved, nil
}
