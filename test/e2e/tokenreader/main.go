// Command tokenreader is a fake of DigitalOcean's cloud-controller-manager, which cannot be built as a Go module. It
// reads the token from the same variable, reports its digest, and is healthy if it has one.
package main

import (
	"crypto/sha256"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	token := os.Getenv("DO_ACCESS_TOKEN")
	if token == "" {
		log.Fatal("DO_ACCESS_TOKEN is empty")
	}
	fmt.Printf("token sha256:%x region %s\n", sha256.Sum256([]byte(token)), os.Getenv("REGION"))
	http.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{Addr: ":10258", ReadHeaderTimeout: time.Minute}
	log.Fatal(server.ListenAndServeTLS(flagValue("tls-cert-file"), flagValue("tls-private-key-file")))
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
