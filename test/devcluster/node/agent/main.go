// Command agent is the first process of a development node, and the sleeping process of its pods.
//
// As "agent init" it is process 1 of the node's namespaces: it lays out the node's mounts and network, then keeps
// containerd and the kubelet running, as systemd does on a real node, and collects orphaned processes. It takes its
// settings and its requests as JSON lines on standard input and answers on standard output. When standard input ends,
// the process that started the node has gone and the node ends with it.
//
// As "agent pause" it holds a pod's namespaces until it is told to stop.
//
// It is compiled from these files alone, so it uses nothing but the standard library.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	mode := ""
	if len(os.Args) == 2 {
		mode = os.Args[1]
	}
	switch mode {
	case "init":
		if err := runInit(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "pause":
		pause()
	default:
		fmt.Fprintln(os.Stderr, "usage: agent init | agent pause")
		os.Exit(2)
	}
}

// pause waits for the signals that a container runtime stops a pod with. A signal without a handler is ignored in
// process 1 of a PID namespace.
func pause() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	<-stop
}
