package noderepair

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/filesyncer"
)

func TestTheDigestsOfARevisionAreComputedAgainIfAnObjectDiffers(t *testing.T) {
	c := newCluster(t)
	want := &filesyncer.Report{Manifest: c.sound.Manifest, Directory: c.sound.Directory}
	first, err := c.digestsOf(7)
	require.NoError(t, err)
	require.Equal(t, want, first)
	again, err := c.digestsOf(7)
	require.NoError(t, err)
	require.Same(t, first, again)

	// The objects of another revision do not exist.
	other, err := c.digestsOf(8)
	require.NoError(t, err)
	require.Nil(t, other)

	configMaps := c.caches.Core().V1().ConfigMaps()
	sound, err := configMaps.Lister().ConfigMaps(namespace).Get("trusted-ca-7")
	require.NoError(t, err)
	damaged := sound.DeepCopy()
	damaged.Data = map[string]string{"ca-bundle.pem": "another"}
	require.NoError(t, configMaps.Informer().GetStore().Update(damaged))
	other, err = c.digestsOf(7)
	require.NoError(t, err)
	require.Nil(t, other, "the objects do not match their digest")
	require.NoError(t, configMaps.Informer().GetStore().Update(sound))
	again, err = c.digestsOf(7)
	require.NoError(t, err)
	require.Equal(t, want, again)

	secrets := c.caches.Core().V1().Secrets()
	credentials, err := secrets.Lister().Secrets(namespace).Get("cloud-credentials-7")
	require.NoError(t, err)
	require.NoError(t, secrets.Informer().GetStore().Delete(credentials))
	other, err = c.digestsOf(7)
	require.NoError(t, err)
	require.Nil(t, other, "an object is missing")
}
