package targetconfigcontroller

import (
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// unproved ends the value with which an administrator accepts a likely mistake that no preflight will judge.
const unproved = "-unproved"

// checked returns the value with which an administrator accepts the likely mistakes in the inputs: our checks may be
// older than the cloud-controller-manager. A preflight of them decides then, where there is one.
func (g *gathered) checked(in operand.Inputs) string {
	return g.valueOf(operand.StartDigests{diagnostic.CloudConfig: operand.InputDigest(in)})
}

// checkedWithCredentials is the same for a contradiction between the cloud configuration and the credentials.
func (g *gathered) checkedWithCredentials(in operand.Inputs) string {
	return g.valueOf(operand.StartDigests{
		diagnostic.CloudConfig: operand.InputDigest(in), diagnostic.Credentials: operand.CredentialsDigest(in),
	})
}

func (g *gathered) valueOf(inputs operand.StartDigests) string {
	if g.Platform.Preflight {
		return inputs.CheckedValue()
	}
	return inputs.CheckedValue() + unproved
}

// nameAcceptance says how to accept the inputs that a check has rejected. What the cloud-controller-manager rejects
// cannot be accepted.
func (g *gathered) nameAcceptance(next *candidate, in operand.Inputs, isContradiction bool) error {
	value := g.checkedWithCredentials(in)
	if !isContradiction {
		value, in.Policy = g.checked(in), diagnostic.Lenient
		if _, rejected, err := render(in, g.errors); err != nil || rejected != nil {
			return err
		}
	}
	what := "; to let a preflight judge it, run: "
	if !g.Platform.Preflight {
		what = "; to use it although nothing proves it, run: "
	}
	if next.fallbacks == nil {
		next.fallbacks = map[diagnostic.Cause]string{}
	}
	for _, d := range next.errors {
		if text := next.fallbacks[d.Cause]; !strings.Contains(text, value) {
			next.fallbacks[d.Cause] = strings.TrimPrefix(text+what+operatorclient.AcceptCommand(g.acceptance, value), "; ")
		}
	}
	return nil
}
