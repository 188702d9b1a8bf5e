package devcluster

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/ccm"
)

func TestTheArgumentsOfEveryPlatformAreKnownBeforeAClusterStarts(t *testing.T) {
	repository, err := FindRepository(".")
	require.NoError(t, err)
	for _, p := range platform.All() {
		if !p.Managed() {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			command, args, err := Arguments(repository, p)
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(command, "/"), command)
			require.True(t, slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--kubeconfig=") }), args)
		})
	}
}

func TestWhatAPlatformCannotShowIsSaidBeforeTheStart(t *testing.T) {
	given := &ccm.Program{Module: "example.com/ccm", Version: "v1.2.3", SHA256: "0123"}
	beside := &ccm.Program{Module: "example.com/cnm", Version: "v1.2.3", SHA256: "4567"}
	for name, tc := range map[string]struct {
		platform configv1.PlatformType
		given    *ccm.Program
		beside   *ccm.Program
		want     string
	}{
		"a platform with a stand-in and a built program": {platform: "AWS"},
		"a platform without a cloud":                     {platform: "None"},
		"a platform with a stand-in and a given program": {platform: "AWS", given: given,
			want: "the cloud-controller-manager is example.com/ccm v1.2.3 sha256:0123\n"},
		"a platform with a given cloud-node-manager too": {platform: "Azure", given: given, beside: beside,
			want: "the cloud-controller-manager is example.com/ccm v1.2.3 sha256:0123\n" +
				"the cloud-node-manager is example.com/cnm v1.2.3 sha256:4567\n"},
		"a platform without a program": {platform: "AlibabaCloud",
			want: "no cloud-controller-manager runs on AlibabaCloud: its source is in no Go module that can be downloaded; " +
				"set CCM to its binary (docs/hacking.md, \"A CCM that is not built here\")\n"},
		"a platform whose cloud is another one's stand-in": {platform: "External", given: given,
			want: "the cloud-controller-manager is example.com/ccm v1.2.3 sha256:0123\n" +
				"it starts with the arguments of OpenStack's, whose stand-in is the cloud here, so set spec.custom of " +
				"cloudcontrollermanager/cluster to those of yours (docs/external.md)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			c := &Cluster{options: Options{Platform: tc.platform, Nodes: 1}, progress: &said, given: tc.given,
				nodeManager: tc.beside}
			c.sayWhatRuns()
			require.Equal(t, tc.want, said.String())
		})
	}
}

func TestNoProgramIsTakenForAPlatformWithoutACloudControllerManager(t *testing.T) {
	_, err := OpenCCM(t.Context(), Options{Platform: "None", CCM: ccm.Given{Binary: "/bin/true"}})
	require.EqualError(t, err, "CCM: no cloud-controller-manager runs on platform None: set PLATFORM to the platform of yours")
}

func TestNoNodeManagerIsTakenForAPlatformWithoutOne(t *testing.T) {
	repository, err := FindRepository(".")
	require.NoError(t, err)
	program, err := os.Executable()
	require.NoError(t, err)
	c := &Cluster{options: Options{Platform: "AWS", Repository: repository, CCM: ccm.Given{NodeManager: program}}}
	require.EqualError(t, c.openNodeManager(t.Context()),
		"CCM_NODE_MANAGER="+program+": no cloud-node-manager runs on platform AWS: unset it")
}

// A cluster WithoutPayload builds its images later, in LoadImages.
func TestTheImagesOfAClusterHaveTheGivenProgram(t *testing.T) {
	repository, err := FindRepository(".")
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "ccm")
	require.NoError(t, os.WriteFile(program, []byte("the given program"), 0o755))
	c := &Cluster{
		options:  Options{Platform: "GCP", Repository: repository, Dir: t.TempDir()},
		progress: io.Discard, given: &ccm.Program{Path: program}, command: "/bin/gcp-cloud-controller-manager",
	}
	images, err := c.Images(t.Context())
	require.NoError(t, err)
	given := filepath.Join(c.options.Dir, "images", "gcp-cloud-controller-manager.tar")
	require.Contains(t, images, given)
	content, err := os.ReadFile(given)
	require.NoError(t, err)
	require.Contains(t, string(content), "the given program")
}

func TestTheImagesOfAClusterHaveTheGivenNodeManager(t *testing.T) {
	repository, err := FindRepository(".")
	require.NoError(t, err)
	dir := t.TempDir()
	manager, beside := filepath.Join(dir, "ccm"), filepath.Join(dir, "cnm")
	require.NoError(t, os.WriteFile(manager, []byte("the given program"), 0o755))
	require.NoError(t, os.WriteFile(beside, []byte("the program beside it"), 0o755))
	c := &Cluster{
		options:  Options{Platform: "Azure", Repository: repository, Dir: t.TempDir()},
		progress: io.Discard, given: &ccm.Program{Path: manager}, command: "/bin/azure-cloud-controller-manager",
		nodeManager: &ccm.Program{Path: beside},
	}
	_, err = c.Images(t.Context())
	require.NoError(t, err)
	for tag, want := range map[string]string{
		"azure-cloud-controller-manager": "the given program", "azure-cloud-node-manager": "the program beside it",
	} {
		content, err := os.ReadFile(filepath.Join(c.options.Dir, "images", tag+".tar"))
		require.NoError(t, err)
		require.Contains(t, string(content), want)
	}
}
