// Package unmetered keeps the work queues of the process without metrics. client-go then starts no goroutine that
// measures a queue twice a second. A queue that ends waits for that goroutine while library-go's worker spins: in a
// bubble, 60 controllers spent a second of CPU on it each time that the operator ended.
//
// Only the first provider of metrics counts. Packages are initialized in the order of their import paths, once what
// they import is, so this one comes before k8s.io/component-base, which sets Prometheus.
package unmetered

import (
	_ "unsafe" // For go:linkname: the provider that measures nothing has no exported name.

	"k8s.io/client-go/util/workqueue"
)

//go:linkname provider k8s.io/client-go/util/workqueue.globalMetricsProvider
var provider workqueue.MetricsProvider

//nolint:gochecknoinits // It has to come first.
func init() { workqueue.SetProvider(provider) }
