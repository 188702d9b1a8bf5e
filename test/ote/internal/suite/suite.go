// Package suite has the tests that openshift-tests runs on clusters with this operator: its own, and those that the
// image of its predecessor brought. The tests keep their names, by which openshift-tests records their history.
package suite

import (
	"context"
	"fmt"
	"io"
	"time"

	configclient "github.com/openshift/client-go/config/clientset/versioned"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/version"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/ote/internal/extension"
)

// The file names of the program with the operator's tests and of that with the tests of AWS. They are those of the
// predecessor's image, which openshift-tests extracts. Both files are the same program.
const (
	Program    = "cloud-controller-manager-operator-tests-ext"
	AWSProgram = "cloud-controller-manager-aws-tests-ext"
)

const (
	repository   = "cluster-cloud-controller-manager-operator"
	awsComponent = "aws-cloud-controller-manager"

	conformance = "Conformance"
	serial      = "Serial"

	// Suites of openshift-tests, which it reads from names.
	inParallel = " [Suite:openshift/conformance/parallel]"
	inSerial   = " [Suite:openshift/conformance/serial]"

	parallelConformance = `!labels.exists(l, l == "Serial") && labels.exists(l, l == "Conformance")`
	serialConformance   = `labels.exists(l, l == "Serial") && labels.exists(l, l == "Conformance")`
)

// Extension returns the tests and the suites of a program. Each test reads KUBECONFIG, as openshift-tests sets it.
func Extension(program string) *extension.Extension {
	if program == AWSProgram {
		return newExtension(awsComponent, awsTests(), extension.Suite{
			Name:        "ccm/aws/conformance/parallel",
			Description: "load balancers on AWS",
			Parents:     []string{"openshift/conformance/parallel"},
			Qualifiers:  []string{parallelConformance},
		})
	}
	return newExtension(repository, append(operatorTests(), vsphereTests()...), extension.Suite{
		Name:        "ccm/operator/conformance/parallel",
		Description: "the operator and its cloud-controller-managers, beside other tests",
		Parents:     []string{"openshift/conformance/parallel"},
		Qualifiers:  []string{parallelConformance},
	}, extension.Suite{
		Name:        "ccm/operator/conformance/serial",
		Description: "the operator and its cloud-controller-managers, one test after the other",
		Parents:     []string{"openshift/conformance/serial"},
		Qualifiers:  []string{serialConformance},
		Parallelism: 1,
	})
}

func newExtension(component string, tests []spec, suites ...extension.Suite) *extension.Extension {
	built := version.Get()
	e := &extension.Extension{
		Source: extension.Source{
			Commit: built.GitCommit, BuildDate: built.BuildDate, GitTreeState: built.GitTreeState,
			SourceURL: "https://github.com/openshift/" + repository,
		},
		Component: extension.Component{Product: "openshift", Kind: "payload", Name: component},
		Suites:    suites,
		Images:    []extension.Image{},
	}
	for _, s := range tests {
		e.Tests = append(e.Tests, s.test(component))
	}
	return e
}

// spec is a test of a cluster.
type spec struct {
	name          string
	labels        []string
	lifecycle     extension.Lifecycle
	include       string
	exclude       string
	isolationMode string
	run           func(ctx context.Context, c *cluster) error
}

func (s spec) test(component string) extension.Test {
	return extension.Test{
		Name: s.name, OriginalName: s.name, Labels: sets.New(s.labels...), Source: "openshift:payload:" + component,
		Lifecycle:           s.lifecycle,
		Resources:           extension.Resources{Isolation: extension.Isolation{Mode: s.isolationMode}},
		EnvironmentSelector: extension.EnvironmentSelector{Include: s.include, Exclude: s.exclude},
		Run: func(ctx context.Context, out io.Writer) error {
			c, err := connect(out)
			if err != nil {
				return err
			}
			return s.run(ctx, c)
		},
	}
}

// cluster is the cluster under test.
type cluster struct {
	rest    *rest.Config
	kube    kubernetes.Interface
	config  configclient.Interface
	dynamic dynamic.Interface
	out     io.Writer
}

func connect(out io.Writer) (*cluster, error) {
	restConfig, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("KUBECONFIG: %w", err)
	}
	restConfig.UserAgent = repository + "-tests-ext"
	restConfig.WarningHandler = rest.NoWarnings{}
	return newCluster(restConfig, out)
}

func newCluster(restConfig *rest.Config, out io.Writer) (*cluster, error) {
	c := &cluster{rest: restConfig, out: out}
	var err error
	if c.kube, err = kubernetes.NewForConfig(restConfig); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if c.config, err = configclient.NewForConfig(restConfig); err != nil {
		return nil, fmt.Errorf("client of config.openshift.io: %w", err)
	}
	if c.dynamic, err = dynamic.NewForConfig(restConfig); err != nil {
		return nil, fmt.Errorf("dynamic client: %w", err)
	}
	return c, nil
}

func (c *cluster) logf(format string, args ...any) {
	fmt.Fprintf(c.out, time.Now().UTC().Format(time.TimeOnly)+" "+format+"\n", args...)
}

// awaitLimit is how long a rollout or a restart may take, or AWS to create or to delete a load balancer.
const awaitLimit = 10 * time.Minute

// await repeats a check until it passes, and writes each other reason why it does not.
func (c *cluster) await(ctx context.Context, what string, check func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, time.Second, awaitLimit, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		if err != nil && (last == nil || err.Error() != last.Error()) {
			c.logf("waiting for %s: %v", what, err)
		}
		last = err
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w, after %s: %w", what, err, awaitLimit, last)
	}
	return nil
}
