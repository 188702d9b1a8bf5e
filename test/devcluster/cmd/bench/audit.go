package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	operatorNamespace = "openshift-cloud-controller-manager-operator"
	operatorAccount   = "cluster-cloud-controller-manager"
	// operatorUser is the operator's user name.
	operatorUser = "system:serviceaccount:" + operatorNamespace + ":" + operatorAccount
)

// request has the fields of a request in the audit log.
type request struct {
	Stage string `json:"stage"`
	Verb  string `json:"verb"`
	URI   string `json:"requestURI"`
	User  struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Received time.Time `json:"requestReceivedTimestamp"`
	Finished time.Time `json:"stageTimestamp"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// kind returns the request without object-specific parts.
func (r request) kind() string {
	resource := r.Object.Resource
	if resource == "" {
		resource, _, _ = strings.Cut(r.URI, "?")
	}
	if r.Object.Subresource != "" {
		resource += "/" + r.Object.Subresource
	}
	return r.Verb + " " + resource
}

// readAudit returns the operator's requests that began between the two times, in the order of their end. A watch counts
// when it begins.
func readAudit(path string, from, to time.Time) ([]request, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	defer file.Close()
	var all []request
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			// A line without a newline is still being written.
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
		stage := "ResponseComplete"
		if r.Verb == "watch" {
			stage = "ResponseStarted"
		}
		if r.User.Username == operatorUser && r.Stage == stage && !r.Received.Before(from) && r.Received.Before(to) {
			all = append(all, r)
		}
	}
}

// countKinds returns "n × verb resource" per kind, the most frequent first.
func countKinds(requests []request) []string {
	counts := map[string]int{}
	for _, r := range requests {
		counts[r.kind()]++
	}
	kinds := make([]string, 0, len(counts))
	for kind := range counts {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d × %s", counts[kind], kind)
	}
	return kinds
}

// firstWrite returns the first request that made an object in the operand's namespace. Events and leases are no
// objects of the operand.
func firstWrite(requests []request, match func(request) bool) (request, bool) {
	index := slices.IndexFunc(requests, func(r request) bool {
		writes := r.Verb == "create" || r.Verb == "update" || r.Verb == "patch"
		return writes && r.Response.Code < 300 && r.Object.Namespace == targetNamespace &&
			r.Object.Resource != "events" && r.Object.Resource != "leases" && match(r)
	})
	if index < 0 {
		return request{}, false
	}
	return requests[index], true
}
