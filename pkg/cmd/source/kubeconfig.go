package source

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/regularfile"
)

// maxFileBytes exceeds the size of any kubeconfig.
const maxFileBytes = 16 << 20

// rules returns where the kubeconfig is.
func (s *Source) rules() *clientcmd.ClientConfigLoadingRules {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.kubeconfig
	return rules
}

// Config returns how to reach the cluster. An error names the file, what is wrong in it, and what to do.
func (s *Source) Config() (*rest.Config, error) {
	rules := s.rules()
	if err := s.checkFiles(rules); err != nil {
		return nil, err
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: s.context})
	raw, err := loader.RawConfig()
	if err == nil {
		err = s.defect(&raw)
	}
	var config *rest.Config
	if err == nil {
		config, err = loader.ClientConfig()
	}
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, errors.New("no cluster is configured: set --kubeconfig or KUBECONFIG")
	case err != nil:
		return nil, fmt.Errorf("kubeconfig %s: %w", s.files(rules), err)
	}
	return config, nil
}

// files names the files that exist.
func (s *Source) files(rules *clientcmd.ClientConfigLoadingRules) string {
	if s.kubeconfig != "" {
		return s.kubeconfig
	}
	return strings.Join(slices.DeleteFunc(slices.Clone(rules.Precedence), func(file string) bool {
		_, err := os.Stat(file)
		return err != nil
	}), " and ")
}

// checkFiles returns an error for a file that cannot be read, or that is no kubeconfig. clientcmd ignores a file of
// KUBECONFIG that does not exist, and quotes the libraries about the others.
func (s *Source) checkFiles(rules *clientcmd.ClientConfigLoadingRules) error {
	files, from := rules.Precedence, "KUBECONFIG"
	if s.kubeconfig != "" {
		files, from = []string{s.kubeconfig}, "--kubeconfig"
	}
	missing := 0
	for _, file := range files {
		data, err := regularfile.Read(file, maxFileBytes)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing++
		case err != nil:
			return fmt.Errorf("kubeconfig %s cannot be read: %w; correct %s, or its permissions", file, regularfile.Reason(err),
				from)
		default:
			if err := checkFile(file, data); err != nil {
				return err
			}
		}
	}
	isNamed := s.kubeconfig != "" || rules.WarnIfAllMissing
	if isNamed && len(files) > 0 && missing == len(files) {
		return fmt.Errorf("kubeconfig %s does not exist: correct %s", strings.Join(files, " and "), from)
	}
	return nil
}

// checkFile returns an error with a place for a file that is no kubeconfig. An empty one is none that is rejected.
func checkFile(file string, data []byte) error {
	var content map[string]any
	if err := yaml.Unmarshal(data, &content); err != nil {
		at, reason := confdoc.YAMLDefect(data, err)
		if strings.HasPrefix(reason, "error unmarshaling JSON") || strings.HasPrefix(reason, "json: ") {
			reason = "it is no mapping: a kubeconfig begins with kind: Config"
		}
		return fmt.Errorf("%s:%d:%d: this is no kubeconfig: %s", file, at.Line, at.Column, reason)
	}
	if kind, found := content["kind"]; found && kind != "Config" {
		return fmt.Errorf("%s: this is no kubeconfig: its kind is %v, and must be Config", file, kind)
	}
	if _, err := clientcmd.Load(data); err != nil {
		return fmt.Errorf("%s: this is no kubeconfig: a field has a wrong type; compare it with the output of oc config "+
			"view", file)
	}
	return nil
}

// defect returns what is wrong with the context that is used, nil if nothing is. Without a user, clientcmd would ask as
// nobody, and without a cluster it says that there is no kubeconfig.
func (s *Source) defect(raw *clientcmdapi.Config) error {
	name := cmp.Or(s.context, raw.CurrentContext)
	context := raw.Contexts[name]
	switch {
	case name == "": // perhaps in a pod
		return nil
	case context == nil:
		return fmt.Errorf("it has no context %q: %s", name, oneOf(slices.Sorted(maps.Keys(raw.Contexts)), "--context"))
	}
	cluster, user := raw.Clusters[context.Cluster], raw.AuthInfos[context.AuthInfo]
	switch {
	case cluster == nil:
		return fmt.Errorf("context %q names cluster %q, which it does not have: correct the context", name, context.Cluster)
	case user == nil && context.AuthInfo != "":
		return fmt.Errorf("context %q names user %q, which it does not have: correct the context", name, context.AuthInfo)
	case cluster.Server == "":
		return fmt.Errorf("cluster %q has no server: set it to the URL of the API server", context.Cluster)
	}
	return defectiveFile(context, cluster, user)
}

// defectiveFile returns an error for a file that a context refers to and that cannot be read.
func defectiveFile(
	context *clientcmdapi.Context, cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo,
) error {
	files := [][2]string{{"certificate-authority of cluster " + context.Cluster, cluster.CertificateAuthority}}
	if user != nil {
		files = append(files, [2]string{"client-certificate of user " + context.AuthInfo, user.ClientCertificate},
			[2]string{"client-key of user " + context.AuthInfo, user.ClientKey},
			[2]string{"tokenFile of user " + context.AuthInfo, user.TokenFile})
	}
	for _, file := range files {
		if file[1] == "" {
			continue
		}
		if _, readErr := regularfile.Read(file[1], maxFileBytes); readErr != nil {
			return fmt.Errorf("%s is %s, which cannot be read: %w; correct the path", file[0], file[1],
				regularfile.Reason(readErr))
		}
	}
	return nil
}

// oneOf says which values a flag may have.
func oneOf(names []string, flag string) string {
	if len(names) == 0 {
		return "it has none; log in with oc login"
	}
	return "specify " + strings.Join(names, " or ") + " with " + flag
}

// Reached explains an error about a cluster that does not answer, or that does not accept the credentials.
func Reached(config *rest.Config, err error) error {
	var (
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		other   x509.HostnameError
		dns     *net.DNSError
		request *url.Error
	)
	if err == nil {
		return nil
	}
	server := config.Host
	switch {
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s does not accept the credentials of the kubeconfig: log in again, for example with oc login",
			server)
	case errors.As(err, &unknown):
		return fmt.Errorf("the certificate of %s is of an unknown CA: correct certificate-authority-data of the kubeconfig",
			server)
	case errors.As(err, &other):
		return fmt.Errorf("the certificate of %s is for another host: correct the server of the kubeconfig", server)
	case errors.As(err, &invalid):
		return fmt.Errorf("the certificate of %s is not valid: check its dates and the clock of this machine", server)
	case errors.As(err, &dns):
		return fmt.Errorf("the name %s of the kubeconfig's server is unknown: correct it, or check the network", dns.Name)
	case errors.As(err, &request):
		reason := request.Err
		var operation *net.OpError
		var call *os.SyscallError
		if errors.As(reason, &operation) {
			reason = operation.Err
		}
		if errors.As(reason, &call) {
			reason = call.Err
		}
		return fmt.Errorf("%s does not answer: %w; check the server of the kubeconfig, and the network", server, reason)
	}
	return err
}
