package controlplane

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startEtcd starts etcd; peerURL is needed only the first time and is then part of the data.
func (c *ControlPlane) startEtcd(ctx context.Context, peerURL string) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if runs(c.etcd) {
		return nil
	}
	if peerURL != "" {
		c.files.etcdPeerURL = peerURL
	}
	args := []string{
		"--name=devcluster",
		"--data-dir=" + filepath.Join(c.options.Dir, "etcd"),
		// Plain HTTP on loopback and no fsync: the data is disposable.
		"--listen-client-urls=" + c.etcdURL,
		"--advertise-client-urls=" + c.etcdURL,
		"--listen-peer-urls=" + c.files.etcdPeerURL,
		"--initial-advertise-peer-urls=" + c.files.etcdPeerURL,
		"--initial-cluster=devcluster=" + c.files.etcdPeerURL,
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
	var err error
	if c.etcd, err = c.spawn("etcd", args); err != nil {
		return err
	}
	return c.await(ctx, c.etcd, c.etcdReady)
}

func (c *ControlPlane) etcdReady(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.etcdURL+"/health", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s/health: %s: %s", c.etcdURL, response.Status, body)
	}
	return nil
}

func (c *ControlPlane) apiserverArgs() []string {
	args := []string{
		"--etcd-servers=" + c.etcdURL,
		"--bind-address=" + c.options.Address,
		"--advertise-address=" + c.options.Address,
		"--secure-port=" + c.options.Port,
		"--tls-cert-file=" + c.files.servingCertificate,
		"--tls-private-key-file=" + c.files.servingKey,
		"--client-ca-file=" + c.files.clientCA,
		"--requestheader-client-ca-file=" + c.files.requestHeaderCA,
		"--requestheader-allowed-names=" + frontProxy,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--kubelet-client-certificate=" + c.files.kubeletCertificate,
		"--kubelet-client-key=" + c.files.kubeletKey,
		// A node has no InternalIP before it is initialized.
		"--kubelet-preferred-address-types=InternalIP,Hostname",
		"--service-cluster-ip-range=" + c.options.ServiceCIDR,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.files.serviceAccountKey,
		"--service-account-signing-key-file=" + c.files.serviceAccountKey,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--audit-policy-file=" + c.files.auditPolicy,
		"--audit-log-path=" + c.files.auditLog,
		"--audit-log-maxsize=1000",
		"--profiling=false",
	}
	if c.options.WithoutWatchList {
		args = append(args, "--feature-gates=WatchList=false")
	}
	if !c.options.Nodes {
		// Endpoints must not have a loopback address.
		args = append(args, "--endpoint-reconciler-type=none")
	}
	return args
}

// startControllers starts the API's clients and waits for the objects of every namespace.
func (c *ControlPlane) startControllers(ctx context.Context) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	manager, err := c.spawn("kube-controller-manager", []string{
		"--kubeconfig=" + c.files.controllerKubeconfig,
		"--authentication-skip-lookup",
		"--secure-port=0",
		"--leader-elect=false",
		"--use-service-account-credentials=true",
		"--root-ca-file=" + c.files.serverCA,
		"--service-account-private-key-file=" + c.files.serviceAccountKey,
		// The default limits take six seconds for the first ServiceAccounts.
		"--kube-api-qps=200",
		"--kube-api-burst=400",
		// A crashed node is detected in 8 s instead of 50 s.
		"--node-monitor-period=1s",
		"--node-monitor-grace-period=8s",
	})
	if err != nil {
		return err
	}
	c.rest = append(c.rest, manager)
	if c.options.Nodes {
		scheduler, err := c.spawn("kube-scheduler", []string{
			"--kubeconfig=" + c.files.schedulerKubecfg,
			"--authentication-skip-lookup",
			"--secure-port=0",
			"--leader-elect=false",
		})
		if err != nil {
			return err
		}
		c.rest = append(c.rest, scheduler)
	}
	return c.await(ctx, manager, c.controllersReady)
}

func (c *ControlPlane) controllersReady(ctx context.Context) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	if _, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return err
	}
	_, err = client.CoreV1().ConfigMaps("default").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
	return err
}
