package architecture

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A fact has one home: a second parser, timer or writer is a defect to come.
func TestEachFactHasOneHome(t *testing.T) {
	for fact, tc := range map[string]struct {
		computed *regexp.Regexp
		home     string
		// others only copy or change what they match, for the reason.
		others map[string]string
	}{
		"a condition of the operator's resource is built and written": {
			computed: regexp.MustCompile(`OperatorStatus\(\)\.WithConditions|\bOperatorCondition\(\)`),
			home:     "pkg/operatorclient/conditions.go",
		},
		"a controller is built": {
			computed: regexp.MustCompile(`\.(ToController|WithSync|WithSyncDegradedOnError)\(`),
			home:     "pkg/internal/reconciler/reconciler.go",
		},
		"the field manager of a controller's conditions is named": {
			computed: regexp.MustCompile(`FieldManager\(\w+, "conditions?"\)|[fF]ieldManager = "|\.ApplyOperatorStatus\(`),
			home:     "pkg/operatorclient/conditions.go",
			others: map[string]string{
				"pkg/operatorclient/retry.go":                "it is the client",
				"pkg/operator/rollout/staticpod/listers.go":  "it adapts the client for library-go",
				"pkg/operator/rollout/staticpod/revision.go": "it writes the latest revision",
			},
		},
		"a read of the operator's resource has failed": {
			computed: regexp.MustCompile(`"(reading )?(the metadata of )?cloudcontrollermanager/(cluster|%s): %w"`),
			home:     "pkg/operatorclient/client.go",
		},
		"all objects of a lister are read": {
			computed: regexp.MustCompile(`\.List\(labels\.Everything\(\)\)`),
			home:     "pkg/operatorclient/find.go",
			others: map[string]string{
				"pkg/predecessor/predecessor.go": "it is below the client",
			},
		},
		"a Node is read by its name": {
			computed: regexp.MustCompile(`List\(ctx, metav1\.ListOptions\{\s*FieldSelector:\s*[\w.(]*metav1\.ObjectNameField`),
			home:     "pkg/operatorclient/find.go",
		},
		"a container is in back-off": {
			computed: regexp.MustCompile(`"CrashLoopBackOff"`),
			home:     "pkg/controlplane/container.go",
		},
		"a pod has ended": {
			computed: regexp.MustCompile(`corev1\.Pod(Succeeded|Failed) (\|\||&&) [\w.]+\.Phase [!=]= corev1\.Pod(Succeeded|Failed)`),
			home:     "pkg/controlplane/container.go",
			others:   map[string]string{"pkg/predecessor/predecessor.go": "it is below the model"},
		},
		"a container has ended": {
			computed: regexp.MustCompile(`(= |return )\w+\.State\.Terminated\n[^}]*\}\n\t(return )?[\w ,:=]*\.LastTerminationState\.Terminated\n`),
			home:     "pkg/controlplane/container.go",
		},
		"a signal has ended a container": {
			computed: regexp.MustCompile(`\bsignaled\b|ExitCode [>-] 128`),
			home:     "pkg/controlplane/container.go",
		},
		"nobody saw a container end": {
			computed: regexp.MustCompile(`Reason, "Unknown"\)|Reason == "(ContainerStatus)?Unknown"|lost\w* += "Unknown"`),
			home:     "pkg/controlplane/container.go",
		},
		"which revision a static pod runs": {
			computed: regexp.MustCompile(`Labels\["revision"\] [!=]= strconv`),
			home:     "pkg/controlplane/container.go",
		},
		"a digest": {
			computed: regexp.MustCompile(`\bsha256\.(New|Sum256)\(`),
			home:     "pkg/digest/digest.go",
		},
		"the header of a line of a log is read": {
			computed: regexp.MustCompile(`\[IWEF\]`),
			home:     "pkg/operandlog/genuine.go",
		},
		"a Node is Ready": {
			computed: regexp.MustCompile(`corev1\.NodeReady\b`),
			home:     "pkg/controlplane/controlplane.go",
		},
		"a Pod is Ready": {
			computed: regexp.MustCompile(`corev1\.PodReady\b`),
			home:     "pkg/controlplane/controlplane.go",
			others:   map[string]string{"pkg/operator/rollout/staticpod/pods.go": "it changes the condition"},
		},
		"a container is found by its name, and is Ready": {
			computed: regexp.MustCompile(`\.ContainerStatuses\b[^\n]*(\n[^\n]*)?\.Name [!=]= `),
			home:     "pkg/controlplane/container.go",
		},
		"the static pod of a node": {
			computed: regexp.MustCompile(`operand\.Name ?\+ ?"-" ?\+`),
			home:     "pkg/operator/lifecycle/removal/nodes.go",
			others: map[string]string{
				"pkg/cmd/handover/handover.go": "a command has no cache",
				"pkg/cmd/installer/node.go":    "a command has no cache",
				"pkg/cmd/nodepod/nodepod.go":   "a command has no cache",
			},
		},
		"which pods may hold the lease": {
			computed: regexp.MustCompile(`\bNewView\(|\bpredecessor\.Of\(|labels\.Set\{"app": operand\.Name\}`),
			home:     "pkg/controlplane/view.go",
			others: map[string]string{
				"pkg/report/nodes.go":                       "it has no caches",
				"pkg/internal/dependencies/dependencies.go": "it reads the caches",
			},
		},
		"whom a lease names": {
			computed: regexp.MustCompile(`\.Spec\.HolderIdentity\b`),
			home:     "pkg/controlplane/leaseholder/leaseholder.go",
		},
		"how long a lease has been held": {
			computed: regexp.MustCompile(`RenewTime\.Sub\(`),
			home:     "pkg/controlplane/leaseholder/leaseholder.go",
		},
		"a node is repaired": {
			computed: regexp.MustCompile(`\.TargetRevision == \w+\.CurrentRevision`),
			home:     "pkg/controlplane/rollout.go",
		},
		"a container is stuck": {
			computed: regexp.MustCompile(`"PodInitializing"(,| &&)`),
			home:     "pkg/controlplane/container.go",
		},
		"something has lasted": {
			computed: regexp.MustCompile(`s\.at\.IsZero\(\)|[sS]ince(\[\w+\])?\.IsZero\(\)|[sS]ince(\[\w+\])? = now\b|_, known := \w*\.?\w*[sS]ince\[|\w\{\w+, \w+\.[cC]lock\.Now\(\)\}`),
			home:     "pkg/patience/patience.go",
			others: map[string]string{
				"pkg/controlplane/lease.go":                    "a renewal counts by its order among the lease's events",
				"pkg/operator/nodes/nodemanager/podsummary.go": "a time that a pod's status has",
			},
		},
		"an object is read from the cache first": {
			computed: regexp.MustCompile(`if \w+, err := [\w.()]+\(name\); err == nil \{\n\t+return`),
			home:     "pkg/operatorclient/find.go",
		},
		"which of two durations is sooner": {
			computed: regexp.MustCompile(`func (\w*[sS]ooner|minPositive)\(|cmp\.Or\(next,|(next|least) == 0 \|\|`),
			home:     "pkg/patience/patience.go",
		},
		"what a pod installs": {
			computed: regexp.MustCompile(`"installer-(%d|")`),
			home:     "pkg/controlplane/controlplane.go",
		},
		"a Node waits for its initialization": {
			computed: regexp.MustCompile(`"node\.cloudprovider\.kubernetes\.io/uninitialized"`),
			home:     "pkg/controlplane/controlplane.go",
		},
	} {
		t.Run(fact, func(t *testing.T) {
			found := map[string]bool{}
			for _, file := range productFiles(t) {
				if tc.computed.Match(read(t, file)) {
					found[file] = true
				}
			}
			if !found[tc.home] {
				t.Errorf("%s has nothing that matches %s: correct this test", tc.home, tc.computed)
			}
			for file := range found {
				if file != tc.home && tc.others[file] == "" {
					t.Errorf("%s computes it again: use %s", file, tc.home)
				}
			}
			for file := range tc.others {
				if !found[file] {
					t.Errorf("%s needs no exception", file)
				}
			}
		})
	}
}

// productFiles returns the Go files of pkg and cmd without tests and what only tests use.
func productFiles(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(slices.Concat(filesUnder(t, "pkg", ".go"), filesUnder(t, "cmd", ".go")), func(file string) bool {
		return strings.HasSuffix(file, "_test.go") || strings.Contains(file, "test/")
	})
}
