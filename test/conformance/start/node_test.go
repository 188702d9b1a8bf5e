package start

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// revision is what the installer puts in the place of REVISION.
const revision = "7"

// host is a node's file system as far as pods see it.
type host struct {
	dir string
	// hosts are the addresses of further names in /etc/hosts.
	hosts map[string]string
}

func newHost(t *testing.T) host { return host{dir: t.TempDir()} }

// write makes a file as the kubelet's and the installer's user does: only root reads a secret.
func (h host) write(t *testing.T, path string, data []byte, secret bool) {
	t.Helper()
	mode := os.FileMode(0o644)
	if secret {
		mode = 0o600
	}
	path = filepath.Join(h.dir, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, data, mode))
}

// install writes what the installer and the file-syncer write for a candidate. Neither makes a directory for an object
// without files.
func (h host) install(t *testing.T, r *operand.Resources, synced map[string]map[string][]byte) {
	t.Helper()
	revisioned := "/etc/kubernetes/static-pod-resources/" + operand.PodConfigMap + "-" + revision
	for _, o := range r.ConfigMaps {
		for key, value := range o.Data {
			h.write(t, filepath.Join(revisioned, "configmaps", o.Name, key), []byte(value), false)
		}
	}
	for _, o := range r.Secrets {
		for key, value := range o.Data {
			h.write(t, filepath.Join(revisioned, "secrets", o.Name, key), value, true)
		}
	}
	for object, files := range synced {
		for key, value := range files {
			h.write(t, filepath.Join("/etc/kubernetes/static-pod-resources", operand.CertDir, object, key), value,
				strings.HasPrefix(object, "secrets/"))
		}
	}
}

// container is a container whose file system has the program, what its pod mounts, and nothing else.
type container struct {
	spec corev1.Container
	root string
	user uint32
	// variables are the files from which an init container makes environment variables, by their names.
	variables map[string]string
}

// newContainer makes the file system of the pod's main container.
func (h host) newContainer(t *testing.T, pod corev1.PodSpec, objects objects) *container {
	t.Helper()
	c := &container{spec: pod.Containers[0], root: t.TempDir(), variables: map[string]string{}}
	for _, init := range pod.InitContainers {
		for _, arg := range init.Args {
			if flag, set, isSet := strings.Cut(arg, "="); isSet && strings.HasPrefix(flag, "--set") {
				name, file, _ := strings.Cut(set, "=")
				c.variables[name] = file
			}
		}
	}
	require.NotNil(t, pod.SecurityContext)
	require.NotNil(t, pod.SecurityContext.RunAsUser)
	c.user = uint32(*pod.SecurityContext.RunAsUser)
	mount(t, c.root, c.root, false)
	hosts := "127.0.0.1 localhost " + proxyName + "\n"
	for name, address := range h.hosts {
		hosts += address + " " + name + "\n"
	}
	for name, content := range map[string]string{
		"etc/hosts":       hosts,
		"etc/resolv.conf": "nameserver 127.0.0.1\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(c.root, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(c.root, name), []byte(content), 0o644))
	}
	program := c.spec.Command[0]
	files := map[string]string{program: filepath.Join(cluster.BinDir(), filepath.Base(program))}
	if given != nil && c.spec.Name == operand.Name && isGiven(t, program) {
		files = given.Files(program)
	}
	for name, file := range files {
		c.bind(t, file, name, true)
	}
	c.bind(t, "/proc", "/proc", true)
	c.bind(t, "/dev/null", "/dev/null", false)
	for _, m := range c.spec.VolumeMounts {
		require.Empty(t, m.SubPath, "volume mount %s", m.Name)
		source := h.volume(t, pod, m.Name, objects)
		c.bind(t, source, m.MountPath, m.ReadOnly)
	}
	if pod.ServiceAccountName != "" {
		c.bind(t, serviceAccount(t, pod.ServiceAccountName), "/var/run/secrets/kubernetes.io/serviceaccount", true)
	}
	if c.spec.SecurityContext != nil && c.spec.SecurityContext.ReadOnlyRootFilesystem != nil && *c.spec.SecurityContext.ReadOnlyRootFilesystem {
		require.NoError(t, syscall.Mount("", c.root, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""))
	}
	return c
}

// objects are the files of the API objects that a pod of a DaemonSet mounts, by "configmaps/name" or "secrets/name",
// and those of projected volumes.
type objects map[string]map[string][]byte

// volume returns what a volume of the pod is on this host.
func (h host) volume(t *testing.T, pod corev1.PodSpec, name string, objects objects) string {
	t.Helper()
	for _, v := range pod.Volumes {
		if v.Name != name {
			continue
		}
		switch {
		case v.HostPath != nil:
			path := filepath.Join(h.dir, strings.ReplaceAll(v.HostPath.Path, "REVISION", revision))
			if *v.HostPath.Type == corev1.HostPathDirectoryOrCreate {
				require.NoError(t, os.MkdirAll(path, 0o755)) // as the kubelet does
			}
			info, err := os.Stat(path)
			require.NoError(t, err, "volume %s", name)
			require.Equal(t, *v.HostPath.Type != corev1.HostPathFile, info.IsDir(), "volume %s", name)
			return path
		case v.EmptyDir != nil:
			return t.TempDir()
		case v.ConfigMap != nil:
			return folder(t, objects, "configmaps/"+v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.DefaultMode)
		case v.Projected != nil:
			return folder(t, objects, "projected/"+v.Name, nil, v.Projected.DefaultMode)
		case v.Secret != nil:
			return folder(t, objects, "secrets/"+v.Secret.SecretName, v.Secret.Items, v.Secret.DefaultMode)
		}
	}
	t.Fatalf("nothing is known of volume %s", name)
	return ""
}

// folder writes the keys of an object as root's, as the kubelet does.
func folder(t *testing.T, objects objects, name string, items []corev1.KeyToPath, mode *int32) string {
	t.Helper()
	files, known := objects[name]
	require.True(t, known, "%s does not exist", name)
	dir := host{dir: t.TempDir()}
	if len(items) == 0 {
		for key, data := range files {
			dir.write(t, key, data, mode != nil && *mode == 0o600)
		}
	}
	for _, item := range items {
		require.Contains(t, files, item.Key)
		dir.write(t, item.Path, files[item.Key], mode != nil && *mode == 0o600)
	}
	return dir.dir
}

// serviceAccount writes what the kubelet mounts into every pod.
func serviceAccount(t *testing.T, name string) string {
	t.Helper()
	dir := host{dir: t.TempDir()}
	dir.write(t, "token", boundToken(t, name), false)
	dir.write(t, "ca.crt", serverCA(t), false)
	dir.write(t, "namespace", []byte(operand.Namespace), false)
	return dir.dir
}

// bind mounts a file or folder.
func (c *container) bind(t *testing.T, source, target string, readOnly bool) {
	t.Helper()
	target = filepath.Join(c.root, target)
	info, err := os.Stat(source)
	require.NoError(t, err)
	if info.IsDir() {
		require.NoError(t, os.MkdirAll(target, 0o755))
	} else {
		require.NoError(t, os.MkdirAll(filepath.Dir(target), 0o755))
		require.NoError(t, os.WriteFile(target, nil, 0o644))
	}
	mount(t, source, target, readOnly)
}

// mount binds until the end of the test.
func mount(t *testing.T, source, target string, readOnly bool) {
	t.Helper()
	require.NoError(t, syscall.Mount(source, target, "", syscall.MS_BIND|syscall.MS_REC, ""), "%s on %s", source, target)
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(target, syscall.MNT_DETACH)) })
	if readOnly {
		require.NoError(t, syscall.Mount("", target, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""), target)
	}
}

// env is the container's environment. fields are the values of its fieldRefs.
func (c *container) env(t *testing.T) map[string]string {
	t.Helper()
	fields := map[string]string{
		"metadata.namespace": operand.Namespace, "metadata.name": operand.Name + "-" + nodeName, "spec.nodeName": nodeName, "status.hostIP": nodeAddress,
	}
	env := map[string]string{}
	for _, v := range c.spec.Env {
		env[v.Name] = v.Value
		switch {
		case v.ValueFrom == nil:
		case v.ValueFrom.FileKeyRef != nil:
			require.Contains(t, c.variables, v.ValueFrom.FileKeyRef.Key)
			content := readIfExists(t, filepath.Join(c.root, c.variables[v.ValueFrom.FileKeyRef.Key]))
			require.True(t, content != nil || *v.ValueFrom.FileKeyRef.Optional, "environment variable %s", v.Name)
			delete(env, v.Name)
			if content != nil {
				env[v.Name] = string(content)
			}
		default:
			require.NotNil(t, v.ValueFrom.FieldRef, "environment variable %s", v.Name)
			require.Contains(t, fields, v.ValueFrom.FieldRef.FieldPath)
			env[v.Name] = fields[v.ValueFrom.FieldRef.FieldPath]
		}
	}
	return env
}

// process is the program of a container.
type process struct {
	container *container
	log       log
	ended     chan struct{}
}

// start starts the container's program, as the kubelet would, and with more arguments if there are any.
func (c *container) start(t *testing.T, more ...string) *process {
	t.Helper()
	env := c.env(t)
	expand := func(text string) string {
		for name, value := range env {
			text = strings.ReplaceAll(text, "$("+name+")", value)
		}
		return text
	}
	command := &exec.Cmd{Path: c.spec.Command[0], Dir: "/"}
	for _, word := range append(append(append([]string{}, c.spec.Command...), c.spec.Args...), more...) {
		command.Args = append(command.Args, expand(word))
	}
	command.Env = []string{"PATH=/usr/bin:/bin"}
	for name, value := range env {
		command.Env = append(command.Env, name+"="+value)
	}
	p := &process{container: c, ended: make(chan struct{})}
	command.Stdout, command.Stderr = &p.log, &p.log
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: c.root, Credential: &syscall.Credential{Uid: c.user, Gid: c.user}}
	require.NoError(t, command.Start())
	go func() {
		_ = command.Wait() // the log tells more than the exit code
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-p.ended
	})
	return p
}

// awaitEnd waits until the process has ended by itself and returns its log.
func (p *process) awaitEnd(t *testing.T) string {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(startLimit):
		t.Fatalf("it still runs after %s:\n%s", startLimit, p.log.String())
	}
	return p.log.String()
}

// await waits until the condition holds; a process that ends before is an error.
func (p *process) await(t *testing.T, what string, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := condition(ctx)
		if err == nil {
			return
		}
		select {
		case <-p.ended:
			// What holds may have come just before the end.
			if err = condition(ctx); err == nil {
				return
			}
			t.Fatalf("it ended before %s (%v):\n%s", what, err, p.log.String())
		case <-ctx.Done():
			t.Fatalf("no %s within %s: %v\n%s", what, startLimit, err, p.log.String())
		case <-ticker.C:
		}
	}
}

// healthy asks as the kubelet does. roots check the serving certificate where it is ours.
func (p *process) healthy(roots *x509.CertPool) func(context.Context) error {
	get := p.container.spec.LivenessProbe.HTTPGet
	url := fmt.Sprintf("%s://127.0.0.1:%s%s", strings.ToLower(string(get.Scheme)), get.Port.String(), get.Path)
	config := &tls.Config{RootCAs: roots, InsecureSkipVerify: roots == nil, MinVersion: tls.VersionTLS12}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, response.Status)
		}
		return nil
	}
}

// leads returns an error unless the lease has a holder. Only the tested process can take it.
func leads(ctx context.Context) error {
	found, err := lease(ctx)
	switch {
	case err != nil:
		return err
	case found == nil || found.Spec.HolderIdentity == nil || *found.Spec.HolderIdentity == "":
		return fmt.Errorf("nobody holds the lease")
	}
	return nil
}

// log is written by a process and read by a test.
type log struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
}

func (l *log) Write(data []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.buffer.Write(data)
}

func (l *log) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.buffer.String()
}
