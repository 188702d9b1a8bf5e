// Command faultyccm is what an image may have instead of a cloud-controller-manager that works. FAULT is how it fails.
// With LATER, it fails as a static pod only.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func main() {
	//nolint:forbidigo // An image has no flags of its own.
	fault, later := os.Getenv("FAULT"), os.Getenv("LATER")
	if later != "" && isPreflight() {
		fmt.Println("I" + time.Now().Format("0102 15:04:05.000000") +
			"       1 node_controller.go:1] Update 3 nodes status took 1ms.") // A line of another time counts as forged.
		lead()
	}
	switch fault {
	case "crash":
		panic("runtime error: invalid memory address or nil pointer dereference")
	case "hang":
		for range time.Tick(time.Hour) {
			continue // A process without a timer would end as a deadlock.
		}
	case "deaf":
		go serve()
		lead()
	default:
		log.Fatal("FAULT is not known")
	}
}

// serve is healthy, unless this is a preflight, which serves nothing.
func serve() {
	if isPreflight() {
		return
	}
	http.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{Addr: ":" + flagValue("secure-port"), ReadHeaderTimeout: time.Minute}
	log.Fatal(server.ListenAndServeTLS(flagValue("tls-cert-file"), flagValue("tls-private-key-file")))
}

func isPreflight() bool { return flagValue("secure-port") == "0" }

// lead holds the lease as long as it can, and does nothing with it.
func lead() {
	config, err := clientcmd.BuildConfigFromFlags("", flagValue("kubeconfig"))
	if err != nil {
		log.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		log.Fatal(err)
	}
	leaderelection.RunOrDie(context.Background(), leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{
				Namespace: flagValue("leader-elect-resource-namespace"), Name: flagValue("leader-elect-resource-name"),
			},
			Client:     kubernetes.NewForConfigOrDie(config).CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_faulty"},
		},
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { log.Print("leads") },
			OnStoppedLeading: func() { log.Fatal("leaderelection lost") },
		},
	})
}

// flagValue returns one of the many flags of a cloud-controller-manager.
func flagValue(name string) string {
	for _, arg := range os.Args[1:] {
		if value, found := strings.CutPrefix(arg, "--"+name+"="); found {
			return value
		}
	}
	log.Fatalf("--%s is not given", name)
	return ""
}
