package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/pki"
)

// frontProxy is the only name that the API server accepts in a request-header client certificate.
const frontProxy = "front-proxy-client"

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// files are the paths of writeFiles' files, and the authority for further clients.
type files struct {
	dir       string
	clientPKI *pki.Authority
	serverPEM []byte

	serverCA, clientCA, requestHeaderCA    string
	servingCertificate, servingKey         string
	kubeletCertificate, kubeletKey         string
	serviceAccountKey                      string
	auditPolicy, auditLog                  string
	adminKubeconfig                        string
	controllerKubeconfig, schedulerKubecfg string
	prometheusKubeconfig                   string
	etcdPeerURL                            string
}

func writeFiles(options Options, url string) (files, error) {
	now := time.Now()
	server, serverErr := pki.NewAuthority("devcluster-server-ca", now)
	client, clientErr := pki.NewAuthority("devcluster-client-ca", now)
	// With one CA for clients and request headers, kube-apiserver would accept any client as a proxy, so it exits.
	header, headerErr := pki.NewAuthority("devcluster-request-header-ca", now)
	if err := errors.Join(serverErr, clientErr, headerErr); err != nil {
		return files{}, err
	}
	dir := filepath.Join(options.Dir, "pki")
	f := files{
		dir: dir, clientPKI: client, serverPEM: server.Certificate,
		serverCA:           filepath.Join(dir, "server-ca.crt"),
		clientCA:           filepath.Join(dir, "client-ca.crt"),
		requestHeaderCA:    filepath.Join(dir, "request-header-ca.crt"),
		servingCertificate: filepath.Join(dir, "kube-apiserver.crt"),
		servingKey:         filepath.Join(dir, "kube-apiserver.key"),
		kubeletCertificate: filepath.Join(dir, "kubelet-client.crt"),
		kubeletKey:         filepath.Join(dir, "kubelet-client.key"),
		serviceAccountKey:  filepath.Join(dir, "service-account.key"),
		auditPolicy:        filepath.Join(dir, "audit-policy.yaml"),
		auditLog:           filepath.Join(options.Dir, "logs", "audit.log"),
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return files{}, fmt.Errorf("control plane directory: %w", err)
	}
	if err := f.writeAuthorities(server, header); err != nil {
		return files{}, err
	}
	if err := f.writeServing(server, options); err != nil {
		return files{}, err
	}
	return f, f.writeKubeconfigs(url)
}

func (f *files) writeAuthorities(server, header *pki.Authority) error {
	signing, err := pki.NewSigningKey()
	if err != nil {
		return err
	}
	return errors.Join(
		writeFile(f.serverCA, server.Certificate, 0o644),
		writeFile(f.clientCA, f.clientPKI.Certificate, 0o644),
		writeFile(f.requestHeaderCA, header.Certificate, 0o644),
		writeFile(f.serviceAccountKey, signing, 0o600),
		writeFile(f.auditPolicy, []byte(auditPolicy), 0o644),
	)
}

func (f *files) writeServing(server *pki.Authority, options Options) error {
	serving, err := server.Server("kube-apiserver", options.Address, options.ServiceIP, "localhost",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
	if err != nil {
		return err
	}
	kubelet, err := f.clientPKI.Client("kube-apiserver-kubelet-client", "system:masters")
	if err != nil {
		return err
	}
	return errors.Join(
		serving.Write(f.servingCertificate, f.servingKey),
		kubelet.Write(f.kubeletCertificate, f.kubeletKey),
	)
}

func (f *files) writeKubeconfigs(url string) error {
	var errs [4]error
	f.adminKubeconfig, errs[0] = f.writeKubeconfig("admin", url, "system:admin", "system:masters")
	f.controllerKubeconfig, errs[1] = f.writeKubeconfig("kube-controller-manager", url,
		"system:kube-controller-manager")
	f.schedulerKubecfg, errs[2] = f.writeKubeconfig("kube-scheduler", url, "system:kube-scheduler")
	// In OpenShift, the cluster-monitoring-operator requests this certificate.
	f.prometheusKubeconfig, errs[3] = f.writeKubeconfig("prometheus", url,
		"system:serviceaccount:openshift-monitoring:prometheus-k8s")
	return errors.Join(errs[:]...)
}

func (f *files) writeKubeconfig(name, url, user string, groups ...string) (string, error) {
	pair, err := f.clientPKI.Client(user, groups...)
	if err != nil {
		return "", err
	}
	path := filepath.Join(f.dir, name+".kubeconfig")
	return path, pki.Kubeconfig{Server: url, ServerCA: f.serverPEM, User: pair}.Write(path)
}
