package start

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
)

// startLimit is how long a start may take on a busy machine.
const startLimit = 90 * time.Second

// examples has an installation for every platform.
const examples = "../../../pkg/operand/testdata"

// user is whom the API knows the operand as.
const user = "system:serviceaccount:" + operand.Namespace + ":" + operand.Name

// azureTenant is the example's.
const azureTenant = "11111111-2222-3333-4444-555555555555"

// providers are the platforms whose cloud-controller-manager is built here, and what each does in front of a cloud that
// refuses everything. A given one of another platform serves its health or asks its cloud. With any of it, it has read its flags and its configuration.
var providers = map[string]struct {
	// serves reports whether it serves its health and goes on. The others end after they were refused.
	serves bool
	// asks is a request that it makes of its cloud, and with a part of its body; empty where it starts without.
	asks, with string
	// refusal is what it says of a configuration that it cannot read.
	refusal string
}{
	"aws": {serves: true, refusal: "unable to read AWS cloud provider config file"},
	"azure": {serves: true, asks: "POST login.microsoftonline.com/" + azureTenant + "/oauth2/v2.0/token", with: "client_secret=",
		refusal: "Failed to parse Azure cloud provider config"},
	"azurestack": {serves: true, asks: "GET management.local.azurestack.example.com/metadata/endpoints", refusal: "Failed to parse Azure cloud provider config"},
	"vsphere":    {serves: true, refusal: "1:1: illegal character"},
	"openstack":  {asks: "POST keystone.example.com:5000/v3/auth/tokens", with: "correct-horse", refusal: "1:1: illegal character"},
}

// tested are the platforms that the tests of every provider test: those of providers or, where a program is given, its
// platform alone.
func tested() []string {
	if given == nil {
		return slices.Sorted(maps.Keys(providers))
	}
	return []string{strings.ToLower(os.Getenv("PLATFORM"))}
}

// isGiven reports whether the program of a pod is replaced by the given one.
func isGiven(t *testing.T, program string) bool {
	t.Helper()
	p, known := platform.ByName(tested()[0])
	require.True(t, known, "PLATFORM=%s", tested()[0])
	command, _, err := devcluster.Arguments(cluster.Repository(), p)
	require.NoError(t, err)
	return program == command
}

func phases() []operand.Phase {
	return []operand.Phase{operand.OperatorPhase(), operand.BootstrapPhase()}
}

// inputs are the example's, with the API and the proxy that exist here and their CAs.
func inputs(t *testing.T, name string, phase operand.Phase) operand.Inputs {
	t.Helper()
	p, known := platform.ByName(name)
	require.True(t, known, "platform %s", name)
	dir := filepath.Join(examples, name)
	in := operand.Inputs{
		Phase:    phase,
		Platform: p,
		Config:   observed(t, filepath.Join(dir, "observed.yaml")),
		Images:   operand.Images{Operand: "example/operand", NodeManager: "example/node-manager", Operator: "example/operator"},
		CloudConfig: operand.CloudConfig{
			Source: "configmap/cloud-provider-config in openshift-config", Key: "config",
			Data: readIfExists(t, filepath.Join(dir, "cloud.conf")), CABundle: cloud.authority.pem,
		},
		Credentials: operand.Credentials{Source: "secret/" + p.Credentials.Secret, Data: readFolder(t, filepath.Join(dir, "credentials"))},
		Overrides:   overrides(t, name),
		Policy:      diagnostic.Strict,
	}
	if endpoints := readIfExists(t, filepath.Join(dir, "endpoints")); endpoints != nil {
		in.CloudConfig.Keys = map[string][]byte{"endpoints": endpoints}
	}
	if phase.Files == nil {
		in.Identity = &operand.Identity{CABundle: serverCA(t), FileSyncerToken: []byte("not used here")}
	}
	return in
}

// overrides is what upstream's cloud-controller-managers need otherwise than OpenShift's forks.
func overrides(t *testing.T, name string) []byte {
	t.Helper()
	found := devcluster.Overrides(name)
	if found == nil || given != nil {
		return nil
	}
	data, err := yaml.Marshal(found)
	require.NoError(t, err)
	return data
}

// observed is what an example says was observed, with what is different here.
func observed(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var document map[string]any
	require.NoError(t, yaml.Unmarshal(data, &document))
	document["apiServerInternalURI"] = cluster.URL()
	document["proxy"] = map[string]any{"HTTPS_PROXY": proxyURL, "NO_PROXY": ".cluster.local,.svc," + metadataAddress}
	data, err = yaml.Marshal(document)
	require.NoError(t, err)
	return data
}

func readIfExists(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
	}
	return data
}

func readFolder(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	files := map[string][]byte{}
	for _, entry := range entries {
		files[entry.Name()] = readIfExists(t, filepath.Join(dir, entry.Name()))
	}
	return files
}

// install renders and puts what was rendered on a host, as the phase's installer does.
func install(t *testing.T, in operand.Inputs) (host, *operand.Resources) {
	t.Helper()
	resources, err := operand.Render(in)
	require.NoError(t, err)
	h := newHost(t)
	if in.Phase.Files == nil {
		h.install(t, resources, synced(t, resources))
		return h, resources
	}
	for _, f := range resources.Files {
		dir := in.Phase.Files.ConfigDir
		if f.Secret {
			dir = in.Phase.Files.SecretsDir
		}
		h.write(t, filepath.Join(dir, f.Name), f.Data, f.Secret)
	}
	kubeconfig, err := bootstrapKubeconfig()
	require.NoError(t, err)
	h.write(t, filepath.Join(in.Phase.Files.SecretsDir, "kubeconfig"), kubeconfig, true)
	return h, resources
}

// synced are the files that the file-syncer keeps, by folder.
func synced(t *testing.T, r *operand.Resources) map[string]map[string][]byte {
	t.Helper()
	serving, err := cloud.authority.files("127.0.0.1")
	require.NoError(t, err)
	clientCA, err := os.ReadFile(cluster.ClientCAFile())
	require.NoError(t, err)
	files := map[string]map[string][]byte{
		"secrets/" + operand.ServingCertSecret:                 serving,
		"secrets/" + operand.KubeTokenSecret:                   {"token": token(t, operand.Name)},
		"configmaps/" + operand.ClientCAConfigMap:              {"ca-bundle.crt": clientCA},
		"configmaps/" + operand.RequestHeaderClientCAConfigMap: {"ca-bundle.crt": cloud.authority.pem},
	}
	tokens := map[string][]byte{}
	for _, wanted := range r.Tokens {
		tokens[wanted.Key] = token(t, operand.Name, wanted.Audience)
	}
	files["secrets/"+operand.CloudTokensSecret] = tokens
	return files
}

// fresh is a cloud that nobody has asked and a lease that nobody holds.
func fresh(t *testing.T) {
	t.Helper()
	require.NoError(t, releaseLease(t.Context()))
	cloud.forget()
	t.Cleanup(func() { require.NoError(t, releaseLease(context.WithoutCancel(t.Context()))) })
}

func TestEachProviderStarts(t *testing.T) {
	for _, name := range tested() {
		want, listed := providers[name]
		for _, phase := range phases() {
			if p, _ := platform.ByName(name); p.NodeManagerImage != "" && phase.Files != nil {
				continue // the cloud-node-manager runs instead
			}
			t.Run(name+" in phase "+phase.Name, func(t *testing.T) {
				fresh(t)
				seen := auditOffset(t)
				h, resources := install(t, inputs(t, name, phase))
				p := h.newContainer(t, resources.Pod.Spec, nil).start(t)
				if want.asks != "" {
					p.await(t, "request of the cloud", func(context.Context) error { return cloud.seen(want.asks, want.with) })
				}
				if want.serves {
					p.await(t, "health", p.healthy(roots(t, phase)))
				}
				if !listed {
					p.await(t, "health, or request of a cloud", func(ctx context.Context) error {
						if len(cloud.lines()) > 0 {
							return nil
						}
						return p.healthy(roots(t, phase))(ctx)
					})
					t.Logf("it asked %q", cloud.lines())
				}
				if phase.Files != nil {
					return
				}
				if want.serves {
					p.await(t, "lease", leads)
					p.await(t, "watch of the nodes", func(context.Context) error { return watches(t, seen) })
				}
				require.Empty(t, denied(t, seen, user), "the operand's rules do not allow what it does")
			})
		}
	}
}

// roots are what the serving certificate is checked against; on the bootstrap node it is made by the process itself.
func roots(t *testing.T, phase operand.Phase) *x509.CertPool {
	t.Helper()
	if phase.Files != nil {
		return nil
	}
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(cloud.authority.pem))
	return pool
}

// The negative controls: what would be a false success above.
func TestEachProviderRefusesAFlagThatItDoesNotKnow(t *testing.T) {
	for _, name := range tested() {
		t.Run(name, func(t *testing.T) {
			fresh(t)
			h, resources := install(t, inputs(t, name, operand.OperatorPhase()))
			p := h.newContainer(t, resources.Pod.Spec, nil).start(t, "--no-such-flag")
			require.Contains(t, p.awaitEnd(t), "unknown flag: --no-such-flag")
			require.Empty(t, cloud.lines())
		})
	}
}

// When this fails, upstream has lifted its limit: take the override away.
func TestUpstreamsAzureStillRefusesTheForksConcurrency(t *testing.T) {
	fresh(t)
	in := inputs(t, "azure", operand.OperatorPhase())
	in.Overrides = nil
	h, resources := install(t, in)
	p := h.newContainer(t, resources.Pod.Spec, nil).start(t)
	require.Contains(t, p.awaitEnd(t), "--concurrent-service-syncs is limited to 1 only")
}

func TestEachProviderKnowsItsFeatureGates(t *testing.T) {
	for _, name := range tested() {
		t.Run(name, func(t *testing.T) {
			fresh(t)
			in := inputs(t, name, operand.OperatorPhase())
			gates := []byte("cluster: {featureGates: [CloudControllerManagerWatchBasedRoutesReconciliation, CloudControllerManagerWebhook, " +
				"ControllerManagerReleaseLeaderElectionLockOnExit]}")
			var err error
			in.Config, err = operandconfig.Merge(in.Config, gates)
			require.NoError(t, err)
			h, resources := install(t, in)
			require.Contains(t, strings.Join(resources.Pod.Spec.Containers[0].Args, " "), "--feature-gates=")
			// It reads all of its flags before it refuses one.
			p := h.newContainer(t, resources.Pod.Spec, nil).start(t, "--no-such-flag")
			end := p.awaitEnd(t)
			require.NotContains(t, end, "unrecognized feature gate")
			require.Contains(t, end, "unknown flag: --no-such-flag")
		})
	}
}

// The numbers are those of every group of the API (configv1.TLSGroup): a process whose Go lacks one exits.
func TestConfiguredTLSGroupsAreTheOnlyOnesServed(t *testing.T) {
	for name, tc := range map[string]struct {
		configured string
		offered    tls.CurveID
		served     bool
	}{
		"a configured group":               {`["24"]`, tls.CurveP384, true},
		"a group that is not configured":   {`["24"]`, tls.X25519, false},
		"every group of the API":           {`["23", "24", "25", "29", "4587", "4588", "4589"]`, tls.X25519, true},
		"no group is configured: Go's own": {`[]`, tls.X25519, true},
	} {
		t.Run(name, func(t *testing.T) {
			fresh(t)
			in := inputs(t, "aws", operand.OperatorPhase())
			var err error
			in.Config, err = operandconfig.Merge(in.Config, []byte("servingInfo: {curvePreferences: "+tc.configured+"}"))
			require.NoError(t, err)
			h, resources := install(t, in)
			p := h.newContainer(t, resources.Pod.Spec, nil).start(t)
			p.await(t, "health", p.healthy(roots(t, in.Phase)))

			dialer := tls.Dialer{Config: &tls.Config{
				RootCAs: roots(t, in.Phase), MinVersion: tls.VersionTLS13, CurvePreferences: []tls.CurveID{tc.offered},
			}}
			connection, err := dialer.DialContext(t.Context(), "tcp", "127.0.0.1:10258")
			if !tc.served {
				require.ErrorContains(t, err, "handshake failure")
				return
			}
			require.NoError(t, err)
			defer connection.Close()
			secure, is := connection.(*tls.Conn)
			require.True(t, is)
			require.Equal(t, tc.offered, secure.ConnectionState().CurveID)
		})
	}
}

func TestEachProviderRefusesAConfigurationThatItCannotRead(t *testing.T) {
	for _, name := range tested() {
		t.Run(name, func(t *testing.T) {
			fresh(t)
			h, resources := install(t, inputs(t, name, operand.OperatorPhase()))
			h.write(t, "/etc/kubernetes/static-pod-resources/"+operand.PodConfigMap+"-"+revision+"/secrets/"+operand.CloudConfigSecret+"/cloud.conf",
				[]byte("{ this: is: neither ["), true)
			p := h.newContainer(t, resources.Pod.Spec, nil).start(t)
			require.Contains(t, p.awaitEnd(t), providers[name].refusal)
			require.Empty(t, cloud.lines())
		})
	}
}

// event is what is of interest in a line of the API server's audit log.
type event struct {
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		Resource string `json:"resource"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

func auditOffset(t *testing.T) int64 {
	t.Helper()
	info, err := os.Stat(cluster.AuditLog())
	require.NoError(t, err)
	return info.Size()
}

// events are the requests of a user since an offset of the audit log.
func events(t *testing.T, offset int64, username string) []event {
	t.Helper()
	file, err := os.Open(cluster.AuditLog())
	require.NoError(t, err)
	defer file.Close()
	_, err = file.Seek(offset, 0)
	require.NoError(t, err)
	var found []event
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var e event
		// The last line may be half written.
		if json.Unmarshal(scanner.Bytes(), &e) == nil && e.User.Username == username {
			found = append(found, e)
		}
	}
	require.NoError(t, scanner.Err())
	return found
}

// watches returns nil when the operand watches the nodes.
func watches(t *testing.T, offset int64) error {
	t.Helper()
	if slices.ContainsFunc(events(t, offset, user), func(e event) bool { return e.Verb == "watch" && e.ObjectRef.Resource == "nodes" }) {
		return nil
	}
	return errors.New("the nodes are not watched")
}

// denied are the requests of a user that its rules do not allow.
func denied(t *testing.T, offset int64, username string) []string {
	t.Helper()
	var refused []string
	for _, e := range events(t, offset, username) {
		if e.ResponseStatus.Code == 403 {
			refused = append(refused, e.Verb+" "+e.RequestURI)
		}
	}
	return refused
}
