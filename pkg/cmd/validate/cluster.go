package validate

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/diagnostics"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/source"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/usage"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/preview"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

func (o *options) runAgainstCluster(ctx context.Context, out io.Writer) (code int, err error) {
	config, err := o.source.Config()
	if err != nil {
		return 0, err
	}
	p, err := preview.Of(ctx, config, o.request)
	if err != nil {
		return 0, source.Reached(config, err)
	}
	if o.format == usage.JSON {
		return o.code(&p.Report), usage.WriteJSON(out, clusterResult{result: resultOf(&p.Report), Effect: p.Effect})
	}
	return o.code(&p.Report), o.printEffect(out, p)
}

// clusterResult is the JSON output with --against-cluster. It is an API: fields may be added, but none may change.
type clusterResult struct {
	result

	Effect preview.Effect `json:"effect"`
}

func (o *options) printEffect(out io.Writer, p *preview.Preview) error {
	if err := diagnostics.Print(out, p.Diagnostics, p.Remarks); err != nil || !p.Managed {
		return err
	}
	var text strings.Builder
	for _, change := range p.Effect.Changes {
		name := change.Object
		if change.Key != "" {
			name += ", key " + change.Key
		}
		fmt.Fprintf(&text, "%s %s\n", name, change.What)
		for _, line := range change.Lines {
			fmt.Fprintf(&text, "    %s\n", line)
		}
	}
	text.WriteString(rollout(p.Effect))
	text.WriteString(summary(&p.Report, o.inputs()))
	_, err := io.WriteString(out, printable.Text(text.String()))
	return usage.WriteError(err)
}

func (o *options) inputs() string {
	if files := diagnostics.Inputs(o.request); files != "" {
		return files + " over the cluster"
	}
	return "the cluster"
}

// rollout describes which nodes would get a new revision.
func rollout(e preview.Effect) string {
	var lines strings.Builder
	switch {
	case e.Unknown:
		return ""
	case e.Revision == 0 && !e.NodeManager:
		return "nothing changes: no file, and no node\n"
	case e.Revision != 0:
		fmt.Fprintf(&lines, "revision %d would roll out, node by node", e.Revision)
		separator := ": "
		for _, node := range e.Nodes {
			lines.WriteString(separator + node)
			switch node {
			case e.Leader:
				lines.WriteString(" (leads)")
			case e.Prover:
				lines.WriteString(" (leads next)")
			}
			separator = ", "
		}
		lines.WriteString("\n")
	}
	if e.NodeManager {
		lines.WriteString("the cloud-node-manager would roll out, on every Linux node\n")
	}
	return lines.String()
}
