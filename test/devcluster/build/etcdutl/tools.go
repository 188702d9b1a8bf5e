//go:build tools

// Package etcdutl names the command that the development cluster builds, so that this module's go.mod and go.sum pin
// everything it needs. It is never compiled. It is not in the module of etcd, so that its dependencies do not change
// those of Kubernetes.
package etcdutl

import _ "go.etcd.io/etcd/etcdutl/v3"
