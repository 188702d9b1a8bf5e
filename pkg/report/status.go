// Package report answers questions of an administrator from a snapshot. It makes no decisions itself: the causes are in
// the operator's conditions, and package controlplane knows the leader.
package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/config/clusteroperator/v1helpers"
	operatorv1helpers "github.com/openshift/library-go/pkg/operator/v1helpers"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/codes"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
)

// Status is the state of the operator and of its operand. Its JSON is an API: fields may be added, but none may change.
type Status struct {
	// Taken is the time of the snapshot.
	Taken time.Time `json:"taken"`

	Available   Condition `json:"available"`
	Progressing Condition `json:"progressing"`
	Degraded    Condition `json:"degraded"`

	Infrastructure string `json:"infrastructureName,omitempty"`
	// Platform is empty until a platform is observed.
	Platform string            `json:"platform"`
	Managed  bool              `json:"managed"`
	Versions map[string]string `json:"versions,omitempty"`
	// Images are those of the running cloud-controller-managers.
	Images   []string `json:"images,omitempty"`
	Operator Process  `json:"operator"`

	Revision int32  `json:"revision"`
	Nodes    []Node `json:"controlPlaneNodes"`
	// Leader is why no process leads, empty if one does.
	Leader   string   `json:"noLeader,omitempty"`
	Inputs   []Input  `json:"inputs,omitempty"`
	Expiries []Expiry `json:"expiries,omitempty"`
	// Uninitialized are the Nodes that wait for the cloud-controller-manager.
	Uninitialized []string `json:"uninitializedNodes,omitempty"`

	Problems []Condition `json:"problems,omitempty"`
	Progress []Condition `json:"progress,omitempty"`
	Notices  []Condition `json:"notices,omitempty"`

	Unread []snapshot.Unread `json:"unread,omitempty"`
}

// Condition is a condition that the operator has written.
type Condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Since   time.Time `json:"since,omitzero"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	// Code is the stable code of the reason, empty if the reason is not the operator's own.
	Code string `json:"code,omitempty"`
}

// Process is the process of the operator that holds its lock.
type Process struct {
	Running  bool      `json:"running"`
	Identity string    `json:"identity,omitempty"`
	Renewed  time.Time `json:"renewed,omitzero"`
	// LastStatus is when the status was last written.
	LastStatus time.Time `json:"lastStatus,omitzero"`
	// Problem is why no process is active, empty if one is or if that is unknown.
	Problem string `json:"problem,omitempty"`
}

// Healthy reports whether the operand is available, nothing is degraded, and the operator is running.
func (s *Status) Healthy() bool {
	return s.Available.Status == string(configv1.ConditionTrue) &&
		s.Degraded.Status == string(configv1.ConditionFalse) && s.Operator.Problem == ""
}

// Settled is Healthy without a change in progress.
func (s *Status) Settled() bool {
	return s.Healthy() && s.Progressing.Status == string(configv1.ConditionFalse)
}

// StatusOf returns the status in a snapshot.
func StatusOf(s *snapshot.Snapshot) (*Status, error) {
	operator := snapshot.Get[ccmv1.CloudControllerManager](s, "", operatorclient.Instance)
	if operator == nil {
		if why := s.Missing("cloudcontrollermanager/" + operatorclient.Instance); why != "" {
			return nil, fmt.Errorf("cloudcontrollermanager/%s: %s", operatorclient.Instance, why)
		}
		return nil, fmt.Errorf("cloudcontrollermanager/%s does not exist: this operator is not installed, or another "+
			"cluster was asked; check the kubeconfig", operatorclient.Instance)
	}
	status := &Status{Taken: s.Taken.UTC(), Unread: s.Unread, Revision: operator.Status.LatestAvailableRevision}
	status.Infrastructure = infrastructure(s).InfrastructureName
	clusterOperator := snapshot.Get[configv1.ClusterOperator](s, "", operatorclient.ClusterOperator)
	status.summarize(cmp.Or(clusterOperator, &configv1.ClusterOperator{}))
	config, observed := observedConfig(operator)
	status.Platform, status.Managed = config.Platform, observed.Managed()
	status.Operator = processOf(s, operator)
	status.sortConditions(operator.Status.Conditions)
	for _, node := range nodes(s) {
		if controlplane.IsUninitialized(node) {
			status.Uninitialized = append(status.Uninitialized, node.Name)
		}
	}
	isRemoved := observedplatform.RemovalOf(&operator.Status.OperatorStatus) == observedplatform.Removed
	if !observed.Managed() || isRemoved {
		status.Managed = false
		return status, nil
	}
	status.controlPlane(s, operator)
	status.Inputs = inputsOf(s, config, observed, operator)
	status.Expiries = expiriesOf(s)
	return status, nil
}

func (s *Status) summarize(clusterOperator *configv1.ClusterOperator) {
	of := func(conditionType configv1.ClusterStatusConditionType) Condition {
		c := v1helpers.FindStatusCondition(clusterOperator.Status.Conditions, conditionType)
		if c == nil {
			return Condition{Type: string(conditionType), Status: string(configv1.ConditionUnknown)}
		}
		// The reason joins those of several conditions, which have codes.
		return Condition{string(c.Type), string(c.Status), c.LastTransitionTime.UTC(), c.Reason, c.Message, ""}
	}
	s.Available, s.Progressing = of(configv1.OperatorAvailable), of(configv1.OperatorProgressing)
	s.Degraded = of(configv1.OperatorDegraded)
	for _, version := range clusterOperator.Status.Versions {
		if s.Versions == nil {
			s.Versions = map[string]string{}
		}
		s.Versions[version.Name] = version.Version
	}
}

// sortConditions sorts the operator's conditions into problems, progress and notices, without those of inputs.
func (s *Status) sortConditions(conditions []operatorv1.OperatorCondition) {
	byType := func(a, b operatorv1.OperatorCondition) int { return cmp.Compare(a.Type, b.Type) }
	for _, condition := range slices.SortedFunc(slices.Values(conditions), byType) {
		c := fromOperator(&condition)
		switch {
		case isInput(c.Type):
		case c.isProblem():
			s.Problems = append(s.Problems, c)
		case c.isProgress():
			s.Progress = append(s.Progress, c)
		case c.isNotice():
			s.Notices = append(s.Notices, c)
		}
	}
}

func (c Condition) is(suffix string, status operatorv1.ConditionStatus) bool {
	return strings.HasSuffix(c.Type, suffix) && c.Status == string(status)
}

func (c Condition) isProblem() bool {
	return c.is(string(configv1.OperatorDegraded), operatorv1.ConditionTrue) ||
		c.is(string(configv1.OperatorAvailable), operatorv1.ConditionFalse)
}

// isProgress reports whether something is under way, or begins soon: a removal can be undone while it is Waiting.
func (c Condition) isProgress() bool {
	isStep := c.Type == observedplatform.RemovingCondition || c.Type == predecessor.ConditionType
	isUnderWay := isStep && c.Reason != string(observedplatform.Removed) && c.Status == string(operatorv1.ConditionTrue)
	beginsSoon := c.Type == observedplatform.RemovingCondition && c.Reason == "Waiting"
	return isUnderWay || beginsSoon || c.is(string(configv1.OperatorProgressing), operatorv1.ConditionTrue)
}

// isNotice reports whether the condition deserves attention. Available with another reason than the usual one is a
// tolerated outage, or a platform where nothing runs.
func (c Condition) isNotice() bool {
	isSpecial := c.Reason != "AsExpected" && c.Message != ""
	return c.is("Notices", operatorv1.ConditionTrue) ||
		c.is(string(configv1.OperatorUpgradeable), operatorv1.ConditionFalse) ||
		isSpecial && c.is(string(configv1.OperatorAvailable), operatorv1.ConditionTrue)
}

// furtherNotices are the notices that do not repeat why an input is rejected, as that of a failed preflight does.
func (s *Status) furtherNotices() []Condition {
	return slices.DeleteFunc(slices.Clone(s.Notices), func(c Condition) bool {
		return slices.ContainsFunc(s.Inputs, func(i Input) bool {
			return i.Rejected && strings.Contains(i.Message, c.Message)
		})
	})
}

func fromOperator(c *operatorv1.OperatorCondition) Condition {
	return Condition{
		c.Type, string(c.Status), c.LastTransitionTime.UTC(), c.Reason, c.Message, codes.OfReason(c.Reason),
	}
}

func reasonAndCode(reason string) string {
	if code := codes.OfReason(reason); code != "" {
		return reason + ", " + code
	}
	return reason
}

func conditionOf(operator *ccmv1.CloudControllerManager, conditionType string) Condition {
	if c := operatorv1helpers.FindOperatorCondition(operator.Status.Conditions, conditionType); c != nil {
		return fromOperator(c)
	}
	return Condition{Type: conditionType, Status: string(operatorv1.ConditionUnknown)}
}

// processOf reads the lock of the operator. Like another process of the operator, it compares the lock with the API
// server's time. The holder's clock may differ, but OpenShift's nodes run chrony.
func processOf(s *snapshot.Snapshot, operator *ccmv1.CloudControllerManager) Process {
	p := Process{}
	for _, last := range operator.ManagedFields { // a snapshot keeps only the last entry of the status
		p.LastStatus = ptr.Deref(last.Time, metav1.Time{}).UTC()
	}
	what := "lease/" + snapshot.OperatorLock + " in " + operatorclient.OperatorNamespace
	lock := snapshot.Get[coordinationv1.Lease](s, operatorclient.OperatorNamespace, snapshot.OperatorLock)
	if lock == nil {
		if s.Missing(what) == "" {
			p.Problem = what + " does not exist: no process of the operator has run"
		}
		return p
	}
	p.Identity = leaseholder.Identity(lock)
	p.Renewed = ptr.Deref(lock.Spec.RenewTime, metav1.MicroTime{}).UTC()
	silent := s.Taken.Sub(p.Renewed)
	switch {
	case p.Identity == "":
		p.Problem = "the operator has released its lock and no process has taken it"
	case silent > leaseholder.Duration(lock):
		p.Problem = "the operator has not renewed its lock for " + humanDuration(silent)
	default:
		p.Running = true
	}
	return p
}

// observedConfig returns what status needs of spec.observedConfig, and the platform, empty if none is observed.
func observedConfig(operator *ccmv1.CloudControllerManager) (*operandconfig.Config, platform.Platform) {
	config := &operandconfig.Config{}
	if json.Unmarshal(operator.Spec.ObservedConfig.Raw, config) != nil {
		config = &operandconfig.Config{}
	}
	found, _ := platform.ByName(config.Platform)
	return config, found
}

// Line returns the summary on one line: what is wrong, or what is in progress.
func (s *Status) Line() string {
	shown := s.Progressing
	switch {
	case s.Operator.Problem != "":
		return s.Operator.Problem
	case s.Degraded.Status != string(configv1.ConditionFalse):
		shown = s.Degraded
	case s.Available.Status != string(configv1.ConditionTrue):
		shown = s.Available
	}
	return printable.Line(fmt.Sprintf("%s is %s: %s", shown.Type, shown.Status,
		strings.ReplaceAll(cmp.Or(shown.Message, shown.Reason), "\n", "; ")))
}
