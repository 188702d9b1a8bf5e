package integration_test

import (
	"fmt"
	"os"
	"sort"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
)

func TestZZMeasure(t *testing.T) {
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t)
	c.awaitRevision(t, 1)
	dump := func(name string, from time.Time) {
		count := map[string]int{}
		for _, r := range c.requests(t) {
			if r.StageTimestamp.After(from) {
				count[fmt.Sprintf("%s %d %.200s", r.Verb, r.ResponseStatus.Code, r.RequestURI)]++
			}
		}
		keys := []string{}
		for k := range count {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		f, _ := os.Create("/tmp/measure-" + name)
		for _, k := range keys {
			fmt.Fprintf(f, "%4d %s\n", count[k], k)
		}
		f.Close()
	}
	time.Sleep(30 * time.Second)
	dump("start", time.Time{})
	from := time.Now()
	time.Sleep(120 * time.Second)
	dump("idle", from)
	data, _ := os.ReadFile(c.AuditLog())
	os.WriteFile("/tmp/measure-audit", data, 0o600)
}
