package simulation

import (
	"encoding/base64"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// kubeControllerManager runs until the world ends.
//
//	a Node is Unknown after silence, and its pods are not Ready       node_lifecycle_controller.go
//	a Secret for a ServiceAccount's token gets one, and goes with it  serviceaccount/tokens_controller.go
//	pods without a Node are deleted                                   podgc/gc_controller.go
//	Events live for an hour                                           kube-apiserver --event-ttl
func (w *world) kubeControllerManager() {
	missing := map[string]time.Time{}
	for pause(w.ctx, w.plan.monitored) {
		w.mutex.Lock()
		if w.network.down() {
			for _, m := range w.machines { // It cannot judge either.
				m.seen = time.Now()
			}
			w.mutex.Unlock()
			continue
		}
		w.monitorNodes()
		w.mutex.Unlock()
		w.issueTokens()
		w.collectPods(missing)
		w.api.Forget(events, func(o object) bool {
			at, err := time.Parse(time.RFC3339, fmt.Sprint(apitest.Meta(o)["creationTimestamp"]))
			return err == nil && time.Since(at) > time.Hour
		})
	}
}

// monitorNodes requires the mutex.
func (w *world) monitorNodes() {
	for _, node := range w.api.List(nodes) {
		name, _ := apitest.Meta(node)["name"].(string)
		m := w.machines[name]
		if m != nil && time.Since(m.seen) <= w.plan.silentAfter || readiness(node) == "Unknown" {
			continue
		}
		w.note("kube-controller-manager: the kubelet of %s is silent", name)
		w.api.Edit("kube-controller-manager", nodes, "/"+name, func(o object) bool {
			setReady(o, "Unknown", "NodeStatusUnknown")
			return true
		})
		w.api.Edit("kube-controller-manager", pods, mirrorKey(name), func(o object) bool {
			for _, c := range conditionList(o) {
				if c["type"] == "Ready" && c["status"] != "False" {
					c["status"], c["lastTransitionTime"] = "False", time.Now().UTC().Format(time.RFC3339)
				}
			}
			return true
		})
	}
}

func (w *world) issueTokens() {
	for _, o := range w.api.List(secrets) {
		data, _ := o["data"].(map[string]any)
		if o["type"] != string(corev1.SecretTypeServiceAccountToken) {
			continue
		}
		uid := annotation(o, corev1.ServiceAccountUIDKey)
		account := w.api.Get(resource("", "serviceaccounts"), target+"/"+annotation(o, corev1.ServiceAccountNameKey))
		if account == nil || uid != "" && uid != apitest.Meta(account)["uid"] {
			w.api.Remove("kube-controller-manager", secrets, apitest.Key(o))
			continue
		}
		if data["token"] != nil {
			continue
		}
		w.api.Edit("kube-controller-manager", secrets, apitest.Key(o), func(o object) bool {
			encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
			claims := fmt.Sprintf(`{"sub":"%s%s:%s"}`, serviceAccount, target, annotation(o, corev1.ServiceAccountNameKey))
			annotations, _ := apitest.Meta(o)["annotations"].(map[string]any)
			annotations[corev1.ServiceAccountUIDKey] = apitest.Meta(account)["uid"]
			o["data"] = map[string]any{
				"token":  encode("e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".e30"),
				"ca.crt": encode("ca"), "namespace": encode(target),
			}
			return true
		})
	}
}

func (w *world) collectPods(missing map[string]time.Time) {
	for _, o := range w.api.List(pods) {
		key := apitest.Key(o)
		node := podNode(apitest.Change{After: o})
		if node == "" || w.api.Get(nodes, "/"+node) != nil {
			delete(missing, key)
			continue
		}
		if missing[key].IsZero() {
			missing[key] = time.Now()
		}
		if time.Since(missing[key]) > time.Minute {
			w.api.Remove("pod-garbage-collector", pods, key)
		}
	}
}

// mirrorKey returns the key of the mirror pod on a node.
func mirrorKey(node string) string { return target + "/" + operand.Name + "-" + node }

// closeWatches ends the watches of a resource, "" for all. It returns how many.
func (w *world) closeWatches(name string) int {
	return w.api.CloseWatches(func(r schema.GroupVersionResource) bool { return name == "" || r.Resource == name })
}
