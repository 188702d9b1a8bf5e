package devcluster

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/aws"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standintest"
)

// controlled is a cluster on AWS without a control plane and nodes, which obeys commands.
func controlled(t *testing.T) (c *Cluster, cloud *aws.Server, options Options) {
	t.Helper()
	options, err := Options{Platform: "AWS", Dir: t.TempDir()}.withDefaults()
	require.NoError(t, err)
	cloud, err = aws.Start(t.Context(), aws.Options{Listen: "127.0.0.1:0", Dir: filepath.Join(options.Dir, "aws")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cloud.Close()) })
	c = &Cluster{options: options, cloud: cloud, client: fake.NewClientset(), progress: newProgress(&bytes.Buffer{})}
	require.NoError(t, c.ServeControl(t.Context()))
	t.Cleanup(func() { require.NoError(t, c.Stop(t.Context())) })
	return c, cloud, options
}

func TestARunningClusterRotatesItsCredentials(t *testing.T) {
	c, cloud, options := controlled(t)
	former := cloud.Credential()
	for range 2 { // the first time there is no Secret
		done, err := Control(t.Context(), options, RotateCommand, "")
		require.NoError(t, err)
		require.Equal(t, "the cloud rejects the former credentials; the new ones are in "+
			"secret/cloud-controller-manager-credentials", done)
		require.NotEqual(t, former, cloud.Credential())
		secret, err := c.client.CoreV1().Secrets("openshift-cloud-controller-manager").Get(t.Context(),
			"cloud-controller-manager-credentials", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, cloud.Credential(), string(secret.Data["aws_access_key_id"]))
		former = cloud.Credential()
	}
}

func TestARunningClusterSaysWhatItCannotDo(t *testing.T) {
	c, _, options := controlled(t)
	_, err := Control(t.Context(), options, StopCommand, "master-7")
	require.EqualError(t, err, `machine "master-7" does not exist; there are []`)
	c.cloud = nil
	_, err = Control(t.Context(), options, RotateCommand, "")
	require.EqualError(t, err, "the cloud of AWS has no stand-in")
	_, err = Control(t.Context(), Options{Name: "other", Dir: t.TempDir()}, RotateCommand, "")
	require.EqualError(t, err, `no cluster named "other" runs: start it, or name another one by --name`)
}

func TestTheUnservedCallsAreListed(t *testing.T) {
	_, cloud, options := controlled(t)
	found, err := UnservedCalls(options)
	require.NoError(t, err)
	require.Empty(t, found)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, cloud.URL()+"/?x=y", http.NoBody)
	require.NoError(t, err)
	standintest.Do(t, standintest.NewClient(t, cloud), request)
	found, err = UnservedCalls(options)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Regexp(t, ` / /\?Action=&Version= 501 -$`, found[0])
	require.NoError(t, os.RemoveAll(filepath.Join(options.Dir, "aws")))
	_, err = UnservedCalls(options)
	require.EqualError(t, err, `no stand-in of a cluster named "default" has a record`)
}
