package nodepod

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestTheCommandNeedsAPod(t *testing.T) {
	t.Setenv("NODE_NAME", "")
	_, err := new(Pod).connect(t.Context())
	require.EqualError(t, err, "the environment variables NODE_NAME and POD_NAME are required")
	t.Setenv("NODE_NAME", "master-0")
	t.Setenv("POD_NAME", "installer-7-master-0")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err = new(Pod).connect(t.Context())
	require.EqualError(t, err, "reading the credentials of the pod: unable to load in-cluster configuration, "+
		"KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined")
}

func TestACommandFindsThePodOfItsContext(t *testing.T) {
	given := Pod{Node: "m0", Name: "installer-7-m0", Client: fake.NewClientset(), TerminationLog: "log"}
	ctx := In(t.Context(), given)
	p := &Pod{ResourceDir: "of a flag"}
	connected, err := p.connect(ctx)
	require.NoError(t, err)
	require.Equal(t, ctx, connected)
	require.Equal(t, Pod{Node: "m0", Name: "installer-7-m0", Client: given.Client, TerminationLog: "log",
		ResourceDir: "of a flag"}, *p)
}

func TestTheEndOfACommand(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"a success leaves no message":                          {},
		"an error is the message":                              {err: errors.New("no space left"), want: "installing: no space left"},
		"what a terminal would interpret does not get into it": {err: errors.New("a\x1b[2Jb"), want: `installing: a\x1b[2Jb`},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Pod{TerminationLog: filepath.Join(t.TempDir(), "termination-log")}
			err := p.End("installing", tc.err)
			if tc.want == "" {
				require.NoError(t, err)
				require.NoFileExists(t, p.TerminationLog)
				return
			}
			require.EqualError(t, err, tc.want)
			written, err := os.ReadFile(p.TerminationLog)
			require.NoError(t, err)
			require.Equal(t, tc.want, string(written))
		})
	}
}

func TestAnErrorIsReturnedAlsoWithoutATerminationLog(t *testing.T) {
	p := &Pod{TerminationLog: filepath.Join(t.TempDir(), "missing", "termination-log")}
	require.EqualError(t, p.End("installing", errors.New("no space left")), "installing: no space left")
}

func TestEventsAreAboutThePod(t *testing.T) {
	kube := fake.NewClientset()
	p := &Pod{Name: "removal-master-0", Client: kube}
	p.Recorder("ours", "static-pod-removal").Event("StaticPodRemoved", "Removed the static pod")
	list, err := kube.CoreV1().Events("ours").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.Equal(t, "removal-master-0", list.Items[0].InvolvedObject.Name)
	require.Equal(t, "static-pod-removal", list.Items[0].Source.Component)
}
