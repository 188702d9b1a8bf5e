package main

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/record"
)

func TestThePictureHasABarForEachSpan(t *testing.T) {
	seconds := func(n int) record.Seconds { return record.Seconds(time.Duration(n) * time.Second) }
	var b strings.Builder
	draw(&b, &record.Rollout{Spans: []record.Span{
		{Track: "lease", State: "dev-master-0", From: seconds(10), To: seconds(40)},
		{Track: "pod on dev-master-0", State: "revision 1", From: seconds(0), To: seconds(10)},
		{Track: "pod on dev-master-0", State: "revision 1, Ready", From: seconds(10), To: seconds(40)},
		{Track: "taint of dev-master-0", State: "uninitialized", From: seconds(0), To: seconds(12)},
	}})
	picture := b.String()
	decoder := xml.NewDecoder(strings.NewReader(picture))
	var err error
	for err == nil {
		_, err = decoder.Token()
	}
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, 4, strings.Count(picture, "<title>"))
	require.Contains(t, picture, `<rect x="349.5" y="34" width="598.5" height="18" fill="#2b6cb0" rx="2"><title>master-0</title></rect>`)
	require.Contains(t, picture, `fill="#c9190b" rx="2"><title>uninitialized</title>`)
	require.Contains(t, picture, `fill="#f0ab00" rx="2"><title>revision 1</title>`)
	require.Contains(t, picture, `fill="#3e8635" rx="2"><title>revision 1, Ready</title>`)
	rows := []int{strings.Index(picture, ">lease<"), strings.Index(picture, ">taint of master-0<"), strings.Index(picture, ">pod on master-0<")}
	require.IsIncreasing(t, rows, "from the top: lease, taints, pods")
}
