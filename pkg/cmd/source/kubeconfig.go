package source

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/regularfile"
)

const maxFileBytes = 16 << 20

// Config returns the client configuration of the cluster. Errors name the kubeconfig.
func (s *Source) Config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.kubeconfig
	files := rules.GetLoadingPrecedence()
	if err := checkRegular(files...); err != nil {
		return nil, err
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: s.context})
	raw, err := loader.RawConfig()
	if name := cmp.Or(s.context, raw.CurrentContext); err == nil && name != "" { // the process may be in a pod
		err = usable(raw, name)
	}
	var config *rest.Config
	if err == nil {
		config, err = loader.ClientConfig()
	}
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, errors.New("no cluster is configured: set --kubeconfig or KUBECONFIG")
	case err != nil:
		return nil, fmt.Errorf("kubeconfig %s: %w", strings.Join(files, string(filepath.ListSeparator)), err)
	}
	return config, nil
}

// usable returns what is wrong with a context and missing in ClientConfig's error: a file that never ends, or a missing
// user, without which clientcmd would send anonymous requests.
func usable(config clientcmdapi.Config, name string) error {
	context := config.Contexts[name]
	if context == nil {
		return nil
	}
	cluster := cmp.Or(config.Clusters[context.Cluster], &clientcmdapi.Cluster{})
	user := cmp.Or(config.AuthInfos[context.AuthInfo], &clientcmdapi.AuthInfo{})
	err := checkRegular(cluster.CertificateAuthority, user.ClientCertificate, user.ClientKey, user.TokenFile)
	if err != nil || context.AuthInfo == "" {
		return err
	}
	return clientcmd.ConfirmUsable(config, name) //nolint:wrapcheck // The caller names the kubeconfig.
}

// checkRegular returns an error for a file that never ends. It ignores a missing file, which clientcmd reports.
func checkRegular(files ...string) error {
	for _, file := range files {
		if file == "" {
			continue
		}
		if _, err := regularfile.Read(file, maxFileBytes); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s cannot be read: %w", file, regularfile.Reason(err))
		}
	}
	return nil
}

// Reached explains an error about a cluster that does not answer or does not accept the credentials.
func Reached(config *rest.Config, err error) error {
	var request *url.Error
	switch {
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s does not accept the credentials of the kubeconfig: log in again, for example with oc login",
			config.Host)
	case errors.As(err, &request):
		return fmt.Errorf("%s cannot be reached: %w; check the server and the CA of the kubeconfig, and the network",
			config.Host, request.Err)
	}
	return err
}
