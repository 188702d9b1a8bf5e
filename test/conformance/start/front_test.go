package start

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// metadataAddress is where AWS and Azure have their metadata service.
	metadataAddress = "169.254.169.254"
	// nodeAddress is that of the node.
	nodeAddress = "10.0.0.4"
	// proxyURL is the cluster's proxy, which is the only way to a cloud. The pods' /etc/hosts has its name.
	proxyName = "proxy.example.com"
	proxyURL  = "http://" + proxyName + ":3128"
)

// front is the front door of every cloud: a proxy that is every host, with certificates of a CA of its own, and the
// metadata service. It notes who asks for what, and refuses nearly everything.
type front struct {
	authority        *authority
	metadataListener net.Listener
	mutex            sync.Mutex
	requests         []request
}

// request is what came to a cloud.
type request struct {
	// line is the method, the host and the path.
	line, body string
}

func openFront() (*front, error) {
	authority, err := newAuthority()
	if err != nil {
		return nil, err
	}
	f := &front{authority: authority}
	if _, err := serve("127.0.0.1:3128", f.proxy); err != nil {
		return nil, err
	}
	f.metadataListener, err = serve(metadataAddress+":80", f.metadata)
	return f, err
}

// serve serves until the process ends, or until the listener is closed.
func serve(address string, handle http.HandlerFunc) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: handle, ReadHeaderTimeout: time.Minute}
	server.SetKeepAlivesEnabled(false) // no connection outlives the listener
	go func() { _ = server.Serve(listener) }()
	return listener, nil
}

// handOverMetadata returns a listener for the metadata service of a stand-in, until the test ends.
func (f *front) handOverMetadata(t *testing.T) net.Listener {
	t.Helper()
	require.NoError(t, f.metadataListener.Close())
	listener, err := net.Listen("tcp", metadataAddress+":80")
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = listener.Close() // the stand-in closes it too
		f.metadataListener, err = serve(metadataAddress+":80", f.metadata)
		require.NoError(t, err)
	})
	return listener
}

// proxy lets a client talk TLS with whatever host it asks for.
func (f *front) proxy(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		f.answer(w, r)
		return
	}
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer connection.Close()
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		return
	}
	if _, err := io.WriteString(connection, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	certificate, err := f.authority.issue(host)
	if err != nil {
		return
	}
	f.serve(tls.Server(connection, &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12}), r.Host)
}

// serve answers the requests of one connection.
func (f *front) serve(connection net.Conn, host string) {
	reader := bufio.NewReader(connection)
	for {
		r, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		r.Host = host
		recorder := &reply{header: http.Header{}, status: http.StatusOK}
		f.answer(recorder, r)
		if err := recorder.send(connection, r); err != nil {
			return
		}
	}
}

// answer notes the request and refuses it, unless an answer is needed to come further.
func (f *front) answer(w http.ResponseWriter, r *http.Request) {
	host := strings.TrimSuffix(r.Host, ":443")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f.note(r.Method+" "+host+r.URL.Path, string(body))
	if text, known := f.known(host, r.URL.Path, string(body)); known {
		_, _ = io.WriteString(w, text)
		return
	}
	http.Error(w, `{"error": "access_denied", "error_description": "this is the front door of a cloud"}`, http.StatusForbidden)
}

// known is an answer without which a provider would come no further.
func (f *front) known(host, path, body string) (text string, known bool) {
	const login = "https://login.microsoftonline.com/"
	tenant, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case strings.Contains(host, "ec2") && strings.Contains(body, "Action=DescribeInstances"):
		return describeInstances, true
	case strings.HasPrefix(host, "sts.") && strings.Contains(body, "Action=AssumeRoleWithWebIdentity"):
		return assumeRole, true
	case path == "/common/discovery/instance":
		return `{"tenant_discovery_endpoint": "` + login + `x/v2.0/.well-known/openid-configuration", "metadata": []}`, true
	case strings.HasSuffix(path, "/.well-known/openid-configuration"):
		return fmt.Sprintf(`{"authorization_endpoint": "%[1]s%[2]s/a", "token_endpoint": "%[1]s%[2]s/oauth2/v2.0/token", "issuer": "%[1]s%[2]s/v2.0"}`, login, tenant), true
	case strings.HasSuffix(path, "/oauth2/v2.0/token"):
		return `{"access_token": "a", "token_type": "Bearer", "expires_in": 3600}`, true
	case path == "/metadata/endpoints":
		return `[{"name": "AzureStackCloud", "authentication": {"audiences": ["https://management.example.com"], "loginEndpoint": "` + login + `"}}]`, true
	case strings.HasSuffix(path, "/providers/Microsoft.Compute"):
		return `{"namespace": "Microsoft.Compute", "resourceTypes": []}`, true
	}
	return "", false
}

// metadata is the metadata service of the instance that everything runs on.
func (f *front) metadata(w http.ResponseWriter, r *http.Request) {
	f.note(r.Method+" "+r.Host+r.URL.Path, "")
	answers := map[string]string{
		"/latest/api/token":                          "token",
		"/latest/meta-data/instance-id":              instanceID,
		"/latest/dynamic/instance-identity/document": `{"region": "us-east-1", "instanceId": "` + instanceID + `"}`,
		"/metadata/instance":                         azureInstance,
	}
	text, known := answers[r.URL.Path]
	if !known {
		http.NotFound(w, r)
		return
	}
	if r.Method == http.MethodPut {
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
	}
	_, _ = io.WriteString(w, text)
}

func (f *front) note(line, body string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.requests = append(f.requests, request{line, body})
}

// forget starts the notes anew.
func (f *front) forget() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.requests = nil
}

// seen returns nil when there was a request of that line with the text in its body.
func (f *front) seen(line, text string) error {
	lines := f.lines()
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if slices.ContainsFunc(f.requests, func(r request) bool { return r.line == line && strings.Contains(r.body, text) }) {
		return nil
	}
	return fmt.Errorf("not %q with %q but %q", line, text, lines)
}

// lines are the requests so far, each once.
func (f *front) lines() []string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var lines []string
	for _, r := range f.requests {
		if !slices.Contains(lines, r.line) {
			lines = append(lines, r.line)
		}
	}
	return lines
}

// reply collects a response.
type reply struct {
	header http.Header
	status int
	body   strings.Builder
}

func (r *reply) Header() http.Header            { return r.header }
func (r *reply) WriteHeader(status int)         { r.status = status }
func (r *reply) Write(data []byte) (int, error) { return r.body.Write(data) }

// send writes the response to the request.
func (r *reply) send(w io.Writer, request *http.Request) error {
	response := &http.Response{
		StatusCode: r.status, ProtoMajor: 1, ProtoMinor: 1, Header: r.header, Request: request,
		ContentLength: int64(r.body.Len()), Body: io.NopCloser(strings.NewReader(r.body.String())),
	}
	defer response.Body.Close()
	return response.Write(w)
}

const instanceID = "i-0123456789abcdef0"

// describeInstances is EC2's answer about the instance.
const describeInstances = `<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet><item><instancesSet><item>
<instanceId>` + instanceID + `</instanceId><instanceState><code>16</code><name>running</name></instanceState>
<privateDnsName>ip-10-0-0-1.ec2.internal</privateDnsName><vpcId>vpc-0123</vpcId><subnetId>subnet-0123</subnetId>
<placement><availabilityZone>us-east-1a</availabilityZone></placement>
<tagSet><item><key>kubernetes.io/cluster/demo-x7k2p</key><value>owned</value></item></tagSet>
</item></instancesSet></item></reservationSet></DescribeInstancesResponse>`

// assumeRole is the answer of AWS's security token service.
const assumeRole = `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
<Credentials><AccessKeyId>a</AccessKeyId><SecretAccessKey>b</SecretAccessKey><SessionToken>c</SessionToken><Expiration>2126-01-01T00:00:00Z</Expiration>
</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`

// azureInstance is Azure's answer about the instance.
const azureInstance = `{"compute": {"azEnvironment": "AzurePublicCloud", "location": "eastus", "name": "worker-0", "osType": "Linux",
"platformFaultDomain": "0", "platformUpdateDomain": "0", "provider": "Microsoft.Compute", "resourceGroupName": "demo-x7k2p-rg",
"resourceId": "/subscriptions/s/resourceGroups/demo-x7k2p-rg/providers/Microsoft.Compute/virtualMachines/worker-0",
"subscriptionId": "s", "vmId": "0123", "vmSize": "Standard_D4s_v3", "zone": "1"},
"network": {"interface": [{"ipv4": {"ipAddress": [{"privateIpAddress": "10.0.0.4", "publicIpAddress": ""}],
"subnet": [{"address": "10.0.0.0", "prefix": "24"}]}, "ipv6": {"ipAddress": []}, "macAddress": "000D3A000000"}]}}`

// authority issues certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "every cloud's CA"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &authority{certificate: certificate, key: key, pem: encode("CERTIFICATE", der)}, err
}

// issue makes a serving certificate for a host name or address.
func (a *authority) issue(host string) (*tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.DNSNames, template.IPAddresses = nil, []net.IP{ip}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// files returns a certificate for the host as tls.crt and tls.key.
func (a *authority) files(host string) (map[string][]byte, error) {
	certificate, err := a.issue(host)
	if err != nil {
		return nil, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("key of %s: %w", host, err)
	}
	return map[string][]byte{"tls.crt": encode("CERTIFICATE", certificate.Certificate[0]), "tls.key": encode("PRIVATE KEY", key)}, nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
