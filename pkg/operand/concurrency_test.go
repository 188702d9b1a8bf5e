package operand_test

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
)

// The flags for the number of workers; the default of each is 1.
const (
	nodeWorkers    = "concurrent-node-syncs"
	serviceWorkers = "concurrent-service-syncs"
)

// concurrencyReasons is an entry of testdata/concurrency.yaml.
type concurrencyReasons struct {
	Nodes    string `json:"nodes"`
	Services string `json:"services"`
}

func TestEveryPlatformWorksOnAsManyNodesAndServicesAtATimeAsItsProviderAllows(t *testing.T) {
	for name, want := range map[string]struct{ nodes, services string }{
		"alibabacloud": {"", ""},
		"aws":          {"20", ""},
		"azure":        {"", "10"},
		"azurestack":   {"", ""},
		"digitalocean": {"5", "5"},
		"external":     {"", "3"}, // the example's spec.custom.args
		"gcp":          {"10", "10"},
		"ibmcloud":     {"5", "5"},
		"nutanix":      {"5", ""},
		"openstack":    {"15", ""},
		"powervs":      {"3", "5"},
		"vsphere":      {"", "5"},
	} {
		for _, p := range managed() {
			if p.Name != name {
				continue
			}
			for _, phase := range podPhases(p) {
				t.Run(name+" in phase "+phase.Name, func(t *testing.T) {
					flags := rendered(t, inputs(t, p, phase)).flags()
					require.Equal(t, want.nodes, flags[nodeWorkers])
					require.Equal(t, want.services, flags[serviceWorkers])
					if want.nodes != "" {
						require.Equal(t, "100", flags["kube-api-qps"], "three requests initialize a Node")
						require.Equal(t, "200", flags["kube-api-burst"])
					}
				})
			}
		}
	}
}

// k8s.io/cloud-provider has the flag since 0.36, and by default as many workers as for new Nodes.
func TestInitializedNodesAreAskedForAtTheSamePaceWhereTheFlagIsKnown(t *testing.T) {
	const flag = "concurrent-node-status-updates"
	k := readKnown(t)
	everyRendering(t, func(t *testing.T, r rendering) {
		_, known := k.Platforms[r.platform.Name].Flags[flag]
		require.Equal(t, map[bool]string{true: "10", false: ""}[known], r.flags()[flag])
	})
}

func TestAsManyNodesAtATimeAsTheAdministratorWants(t *testing.T) {
	without := map[string]bool{"alibabacloud": true, "azure": true, "azurestack": true}
	for _, p := range managed() {
		for _, phase := range podPhases(p) {
			t.Run(p.Name+" in phase "+phase.Name, func(t *testing.T) {
				in := inputs(t, p, phase)
				var err error
				in.Config, err = operandconfig.Merge(in.Config, []byte(`extendedArguments: {concurrent-node-syncs: ["37"]}`))
				require.NoError(t, err)
				require.Equal(t, map[bool]string{true: "", false: "37"}[without[p.Name]], rendered(t, in).flags()[nodeWorkers])
			})
		}
	}
}

// writeConcurrency writes the section of docs/platforms.md with the figures of the rendered pods and the reasons in
// testdata/concurrency.yaml.
func writeConcurrency(t *testing.T, out *bytes.Buffer) {
	t.Helper()
	var reasons map[string]concurrencyReasons
	require.NoError(t, yaml.UnmarshalStrict(read(t, "concurrency.yaml"), &reasons))
	require.Len(t, reasons, len(managed()), "testdata/concurrency.yaml")
	out.WriteString(concurrencyIntroduction)
	for _, p := range managed() {
		why, has := reasons[p.Name]
		require.True(t, has, "platform %s has no reasons in testdata/concurrency.yaml", p.Name)
		require.NotEmpty(t, why.Nodes, p.Name)
		require.NotEmpty(t, why.Services, p.Name)
		nodes, services := "–", "–"
		if p.Name != "external" {
			flags := rendered(t, inputs(t, p, operand.OperatorPhase())).flags()
			nodes, services = cmp.Or(flags[nodeWorkers], "–"), cmp.Or(flags[serviceWorkers], "–")
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", p.Name, nodes, oneLine(why.Nodes), services, oneLine(why.Services))
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

const concurrencyIntroduction = `
## Nodes and Services at a time

How many new Nodes (` + "`--concurrent-node-syncs`" + `) and Services of type LoadBalancer (` + "`--concurrent-service-syncs`" + `) the
cloud-controller-manager works on at a time, and why. A dash is the flag's default, which is 1 except on alibabacloud. The
paths are those of the provider's source.

Initializing a Node takes three requests of the API server, besides those of the cloud: an update of the Node, a patch of its
status, an event. The client may make 100 a second (` + "`--kube-api-qps`" + `), in bursts of 200: enough for 33 Nodes a second.
Except on aws, as many workers as initialize Nodes also ask for the addresses of all initialized Nodes every five minutes.

| platform | Nodes | why | Services | why |
|---|---|---|---|---|
`
