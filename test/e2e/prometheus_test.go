package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/alerts"
	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/monitoring"
)

// ofOtherClouds are the metrics of alerts and the dashboard that OpenStack's cloud-controller-manager does not have.
var ofOtherClouds = []string{
	"cloudprovider_aws_api_request_duration_seconds_count", "cloudprovider_aws_api_request_errors",
	"cloudprovider_aws_api_throttled_requests_total", "cloudprovider_azure_api_request_duration_seconds_count",
	"cloudprovider_azure_api_request_errors", "cloudprovider_azure_api_request_throttled_count",
}

// onlyInTrouble are those that a server has only once something has gone wrong, or waits.
var onlyInTrouble = []string{
	"cloud_controller_manager_operator_condition_seconds", "cloud_controller_manager_operator_nodes_waiting",
	"cloud_controller_manager_operator_nodes_waiting_oldest_seconds", "openstack_api_request_errors_total",
}

// testPrometheus lets Prometheus find and scrape the servers by the payload's ServiceMonitors and rights, with a client
// certificate. The metrics of the alerts and the dashboard are those of the profile minimal.
func (s *suite) testPrometheus(t *testing.T) {
	repository, err := devcluster.FindRepository(".")
	require.NoError(t, err)
	binary, err := alerts.Tool(t.Context(), filepath.Join(repository, "_output", "debian"), "prometheus")
	require.NoError(t, err)
	p, err := monitoring.Start(t.Context(), monitoring.Options{
		Binary: binary, Repository: repository, Dir: t.TempDir(), Kubeconfig: s.PrometheusKubeconfig(),
		Admin: s.kube, Profile: "minimal", Interval: time.Second,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Stop(context.WithoutCancel(t.Context()))) })

	want := []string{"cloud-controller-manager-operator"}
	for range s.Nodes() {
		want = append(want, "cloud-controller-manager")
	}
	slices.Sort(want)
	s.await(t, "Prometheus' targets to be up", briefly, func(ctx context.Context) error {
		return targetsUp(ctx, p, want)
	})
	used, err := monitoring.UsedMetrics(repository)
	require.NoError(t, err)
	require.Subset(t, used, ofOtherClouds)
	require.Subset(t, used, onlyInTrouble)
	s.await(t, "the metrics of the alerts and the dashboard", briefly, func(ctx context.Context) error {
		for _, name := range used {
			if slices.Contains(ofOtherClouds, name) || slices.Contains(onlyInTrouble, name) {
				continue
			}
			if series, err := p.Query(ctx, name); err != nil || len(series) == 0 {
				return fmt.Errorf("%s has no series (%w)", name, err)
			}
		}
		return nil
	})
	s.await(t, "the alerts to be evaluated", briefly, func(ctx context.Context) error { return noneFires(ctx, p) })
}

// targetsUp returns an error unless the targets are those of the jobs, one for each, and all are up.
func targetsUp(ctx context.Context, p *monitoring.Prometheus, jobs []string) error {
	targets, err := p.Targets(ctx)
	if err != nil {
		return err
	}
	var found []string
	for _, target := range targets {
		if target.Health != "up" {
			return fmt.Errorf("%v is %s: %s", target.Labels, target.Health, target.LastError)
		}
		found = append(found, target.Labels["job"])
	}
	slices.Sort(found)
	if !slices.Equal(found, jobs) {
		return fmt.Errorf("the targets are of %q, not of %q", found, jobs)
	}
	return nil
}

// noneFires returns an error unless every alert is evaluated, and none fires.
func noneFires(ctx context.Context, p *monitoring.Prometheus) error {
	rules, err := p.Rules(ctx)
	if err != nil {
		return err
	}
	if len(rules) == 0 {
		return errors.New("there is no alert")
	}
	for _, rule := range rules {
		if rule.Health != "ok" || rule.State == "firing" {
			return fmt.Errorf("%s is %s, %s: %s", rule.Name, rule.State, rule.Health, rule.LastError)
		}
	}
	return nil
}
