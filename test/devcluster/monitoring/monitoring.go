// Package monitoring runs Debian's Prometheus beside a development cluster, as OpenShift runs its own: with the client
// certificate of OpenShift's Prometheus, it scrapes what the payload's ServiceMonitors select, and evaluates the
// payload's alerts. Its own page draws the panels of the payload's dashboard.
package monitoring

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/freeport"
)

// The files in the directory of a Prometheus.
const (
	certFile, keyFile, caFile = "client.crt", "client.key", "serving-ca.crt"
	rulesFile, consoleFile    = "rules.yaml", "dashboard.html"
	configFile, logFile       = "prometheus.yaml", "log"
)

// Options describe a Prometheus.
type Options struct {
	// Binary is the program.
	Binary string
	// Repository has the payload's manifests.
	Repository string
	// Dir is where it keeps its files.
	Dir string
	// Address is where it serves; empty is a free port of the loopback interface.
	Address string
	// Kubeconfig has the identity of OpenShift's Prometheus.
	Kubeconfig string
	// Admin does what OpenShift's monitoring operators do.
	Admin kubernetes.Interface
	// Profile is the collection profile of the ServiceMonitors: full or minimal.
	Profile string
	// Interval is how often it scrapes and evaluates. OpenShift does so every 30 s.
	Interval time.Duration
}

// Prometheus is a running Prometheus.
type Prometheus struct {
	address string
	command *exec.Cmd
	log     *os.File
	admin   kubernetes.Interface
}

// Start starts a Prometheus. On an error nothing is left running.
func Start(ctx context.Context, options Options) (*Prometheus, error) {
	if options.Address == "" {
		port, err := freeport.Loopback()
		if err != nil {
			return nil, err
		}
		options.Address = net.JoinHostPort("127.0.0.1", port)
	}
	if err := options.write(ctx); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(options.Dir, logFile))
	if err != nil {
		return nil, fmt.Errorf("log of Prometheus: %w", err)
	}
	p := &Prometheus{
		address: options.Address, log: log, admin: options.Admin,
		command: exec.Command(options.Binary, "--config.file="+filepath.Join(options.Dir, configFile),
			"--storage.tsdb.path="+filepath.Join(options.Dir, "data"), "--web.listen-address="+options.Address,
			"--web.console.templates="+options.Dir, "--web.console.libraries="+options.Dir),
	}
	p.command.Stdout, p.command.Stderr = log, log
	if err := p.command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", options.Binary, err), log.Close())
	}
	return p, nil
}

// write writes the files that Prometheus reads.
func (o Options) write(ctx context.Context) error {
	identity, err := clientcmd.LoadFromFile(o.Kubeconfig)
	if err != nil {
		return fmt.Errorf("the identity of Prometheus: %w", err)
	}
	user := identity.AuthInfos[identity.Contexts[identity.CurrentContext].AuthInfo]
	if err := grant(ctx, o.Admin); err != nil {
		return err
	}
	ca, err := servingCA(ctx, o.Admin)
	if err != nil {
		return err
	}
	config, err := o.configuration(ctx, identity)
	if err != nil {
		return err
	}
	alerts, err := rules(o.Repository)
	if err != nil {
		return err
	}
	board, err := readDashboard(o.Repository)
	if err != nil {
		return err
	}
	page, err := board.page()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return fmt.Errorf("directory of Prometheus: %w", err)
	}
	for name, content := range map[string][]byte{
		certFile: user.ClientCertificateData, keyFile: user.ClientKeyData, caFile: []byte(ca),
		configFile: config, rulesFile: alerts, consoleFile: page,
	} {
		if err := os.WriteFile(filepath.Join(o.Dir, name), content, 0o600); err != nil {
			return fmt.Errorf("files of Prometheus: %w", err)
		}
	}
	return nil
}

// configuration returns Prometheus' configuration for what the ServiceMonitors select in the cluster.
func (o Options) configuration(ctx context.Context, identity *clientcmdapi.Config) ([]byte, error) {
	config, err := clientcmd.NewDefaultClientConfig(*identity, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("the identity of Prometheus: %w", err)
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("the identity of Prometheus: %w", err)
	}
	monitors, err := readMonitors(o.Repository, o.Profile)
	if err != nil {
		return nil, err
	}
	scrapes := make([]scrapeConfig, 0, len(monitors))
	for i := range monitors {
		targets, err := discover(ctx, kube, monitors[i].Spec.NamespaceSelector.MatchNames)
		if err != nil {
			return nil, err
		}
		scrapes = append(scrapes, scrape(&monitors[i], targets, o.Dir))
	}
	return configuration(scrapes, o.Dir, o.Interval.String())
}

// Dashboard returns the URL of the page with the dashboard's panels.
func (p *Prometheus) Dashboard() string { return "http://" + p.address + "/consoles/" + consoleFile }

// Address returns the address at which it serves.
func (p *Prometheus) Address() string { return p.address }

// Stop ends it, and takes back its right to read the metrics of every server.
func (p *Prometheus) Stop(ctx context.Context) error {
	err := p.command.Process.Kill()
	// Its result is that it was killed.
	_ = p.command.Wait()
	return errors.Join(err, p.log.Close(), revoke(ctx, p.admin))
}

// Sample is a series of a query's answer with its value.
type Sample struct {
	Metric map[string]string
	Value  [2]any
}

// Query returns the series of an expression now.
func (p *Prometheus) Query(ctx context.Context, expression string) ([]Sample, error) {
	var answer struct{ Result []Sample }
	err := p.get(ctx, "/api/v1/query?query="+url.QueryEscape(expression), &answer)
	return answer.Result, err
}

// Target is a server that it scrapes.
type Target struct {
	Labels            map[string]string
	Health, LastError string
}

// Targets returns what it scrapes.
func (p *Prometheus) Targets(ctx context.Context) ([]Target, error) {
	var answer struct{ ActiveTargets []Target }
	err := p.get(ctx, "/api/v1/targets?state=active", &answer)
	return answer.ActiveTargets, err
}

// Rule is an alert, with the error of its last evaluation.
type Rule struct{ Name, State, Health, LastError string }

// Rules returns the alerts.
func (p *Prometheus) Rules(ctx context.Context) ([]Rule, error) {
	var answer struct{ Groups []struct{ Rules []Rule } }
	err := p.get(ctx, "/api/v1/rules", &answer)
	var all []Rule
	for _, group := range answer.Groups {
		all = append(all, group.Rules...)
	}
	return all, err
}

func (p *Prometheus) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+path, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(&struct{ Data any }{into})
}
