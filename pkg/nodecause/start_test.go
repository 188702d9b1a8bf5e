package nodecause_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
)

func TestTheLogHasTheBeginOfALead(t *testing.T) {
	const (
		asks     = `I1125 10:00:00.000000       1 leaderelection.go:258] "Attempting to acquire leader lease..." lock="ns/ccm"` + "\n"
		acquires = `I1125 10:00:09.000000       1 leaderelection.go:272] "Successfully acquired lease" lock="ns/ccm"` + "\n"
		old      = `I1125 10:00:09.000000       1 leaderelection.go:258] successfully acquired lease ns/ccm` + "\n"
		client   = `E1125 10:00:09.100000       1 instances.go:61] unable to access compute v2 API : no suitable endpoint` + "\n"
		fails    = `W1125 10:00:09.100000       1 core.go:55] failed to start cloud node controller: cloud provider does not support instances` + "\n"
		skips    = `W1125 10:00:09.100000       1 controllermanager.go:326] Skipping "cloud-node-controller"` + "\n"
		other    = `W1125 10:00:09.100000       1 controllermanager.go:326] Skipping "node-route-controller"` + "\n"
		starts   = `I1125 10:00:09.100000       1 controllermanager.go:338] Started "cloud-node-controller"` + "\n"
	)
	for name, tc := range map[string]struct {
		log  string
		want nodecause.Start
	}{
		"a standby": {log: asks},
		"a leader":  {log: asks + acquires + other + starts, want: nodecause.Start{Seen: true, Started: true}},
		"a leader whose provider waits for its cloud": {log: asks + acquires, want: nodecause.Start{Seen: true}},
		"a leader of an older release":                {log: old, want: nodecause.Start{Seen: true}},
		"a leader without the controller of nodes": {
			log:  asks + acquires + client + fails + skips + other,
			want: nodecause.Start{Seen: true, Skipped: true, Why: "no suitable endpoint"},
		},
		"a provider that does not say why": {
			log:  acquires + fails + skips,
			want: nodecause.Start{Seen: true, Skipped: true, Why: "cloud provider does not support instances"},
		},
		"an error from before the lead": {
			log:  client + acquires + fails + skips,
			want: nodecause.Start{Seen: true, Skipped: true, Why: "cloud provider does not support instances"},
		},
		"an error of another controller":   {log: acquires + starts + client, want: nodecause.Start{Seen: true, Started: true}},
		"a log that begins within a line":  {log: `Skipping "cloud-node-controller"` + "\n" + acquires, want: nodecause.Start{Seen: true}},
		"a log that ends within a line":    {log: acquires + skips[:len(skips)-1], want: nodecause.Start{Seen: true}},
		"a log that begins after the lead": {log: skips, want: nodecause.Start{Skipped: true}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, nodecause.StartOf(tc.log)) })
	}
}
