package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// auditLine returns an audit log entry of the operator, or of the given user.
func auditLine(user, stage, verb, object, second, code string) string {
	return `{"kind":"Event","stage":"` + stage + `","requestURI":"/livez?verbose","verb":"` + verb +
		`","user":{"username":"` + user + `"},` + object +
		`"responseStatus":{"code":` + code + `},"requestReceivedTimestamp":"2026-03-01T12:00:` + second +
		`Z","stageTimestamp":"2026-03-01T12:00:` + second + `Z"}` + "\n"
}

const (
	candidateObject = `"objectRef":{"resource":"configmaps","namespace":"openshift-cloud-controller-manager","name":"cloud-controller-manager-pod"},`
	eventObject     = `"objectRef":{"resource":"events","namespace":"openshift-cloud-controller-manager","name":"e"},`
	statusObject    = `"objectRef":{"resource":"cloudcontrollermanagers","subresource":"status","name":"cluster"},`
)

func TestTheAuditLogTellsTheOperatorsRequests(t *testing.T) {
	operator := "system:serviceaccount:openshift-cloud-controller-manager-operator:cluster-cloud-controller-manager"
	path := filepath.Join(t.TempDir(), "audit.log")
	require.NoError(t, os.WriteFile(path, []byte(
		auditLine(operator, "ResponseComplete", "get", candidateObject, "01.000000", "200")+ // before
			auditLine(operator, "ResponseStarted", "watch", candidateObject, "10.000000", "200")+
			auditLine(operator, "ResponseComplete", "watch", candidateObject, "10.000000", "200")+ // the same one again
			auditLine("someone", "ResponseComplete", "get", candidateObject, "11.000000", "200")+
			auditLine(operator, "ResponseComplete", "create", eventObject, "11.000000", "201")+
			auditLine(operator, "ResponseComplete", "create", candidateObject, "12.000000", "409")+
			auditLine(operator, "ResponseComplete", "create", candidateObject, "13.000000", "201")+
			auditLine(operator, "ResponseComplete", "patch", statusObject, "14.000000", "200")+
			auditLine(operator, "ResponseComplete", "get", "", "15.000000", "200")+
			auditLine(operator, "ResponseComplete", "get", "", "20.000000", "200")+ // after
			`{"half a li`), 0o600))
	at := func(second int) time.Time { return time.Date(2026, time.March, 1, 12, 0, second, 0, time.UTC) }
	requests, err := readAudit(path, at(5), at(20))
	require.NoError(t, err)
	require.Equal(t, []string{
		"2 × create configmaps", "1 × create events", "1 × get /livez", "1 × patch cloudcontrollermanagers/status",
		"1 × watch configmaps",
	}, countKinds(requests))

	first, found := firstWrite(requests, func(request) bool { return true })
	require.True(t, found)
	require.Equal(t, at(13), first.Finished)
	_, found = firstWrite(requests, func(r request) bool { return r.Object.Resource == "secrets" })
	require.False(t, found)
}

func TestTheKernelTellsWhatAProcessUses(t *testing.T) {
	u, err := parseUsage("Name:\toperator\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\nRssAnon:\t  512 kB\n",
		"7 (an (odd) name) S 1 7 7 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 9 0 100")
	require.NoError(t, err)
	require.Equal(t, usage{resident: 1, anonymous: 0.5, peak: 2, cpu: 2}, u)
	_, err = parseUsage("Name:\tkernel thread\n", "7 (kernel) S 1")
	require.EqualError(t, err, "the kernel does not tell VmRSS of the process")
}

func TestAProcessIsFoundAmongItsDescendantsOnly(t *testing.T) {
	require.True(t, descends(os.Getpid(), os.Getppid()))
	require.False(t, descends(os.Getppid(), os.Getpid()))
	_, err := findOperator()
	require.EqualError(t, err, "0 processes of the operator run in the cluster")
}

func TestUnknownPartsAreRejected(t *testing.T) {
	require.EqualError(t, run(t.Context(), options{parts: []string{"idle", "iddle"}}),
		`--parts: there is no part "iddle", only first, memory, idle, rollout, scale, nodes, many, forged`)
}

func TestEachIsDoneOnceAndAnErrorIsTold(t *testing.T) {
	var done atomic.Int64
	require.NoError(t, repeat(t.Context(), 100, func(_ context.Context, i int) error {
		done.Add(int64(i))
		return nil
	}))
	require.Equal(t, int64(4950), done.Load())
	require.EqualError(t, repeat(t.Context(), 100, func(_ context.Context, i int) error {
		if i == 42 {
			return errors.New("42 is wrong")
		}
		return nil
	}), "42 is wrong")
}
