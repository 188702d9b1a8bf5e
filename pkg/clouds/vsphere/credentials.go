package vsphere

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	vSphereUsername = "username"
	vSpherePassword = "password"
	vSphereServer   = "server"
)

// vSphereLogin is where a vCenter's credentials stand in the Secret, which is the same as the files that the provider reads
// (pkg/common/credentialmanager): <server>.username and <server>.password, or for an IPv6 address, of which no key can be
// made, username_x and password_x with the address as the value of server_x.
type vSphereLogin struct {
	server, username, password string
}

// vSphereSecret is the credentials Secret under reading.
type vSphereSecret struct {
	*rewriter
	servers []string // of the vCenters that are used
	keys    []string // sorted
}

// credentials are the files that the provider gets: those of the vCenters that are used. It would log an error for each other.
func (v *rewriter) credentials() map[string][]byte {
	secret := v.src.Credentials
	if secret == nil && v.src.CredentialsUnknown {
		return nil
	}
	servers := v.servers()
	if len(servers) == 0 {
		return nil
	}
	if len(secret) == 0 {
		message := clouds.NoCredentialsSecret
		if secret != nil {
			message = fmt.Sprintf("the credentials Secret is empty: it needs the keys %s and %s", servers[0]+"."+vSphereUsername, servers[0]+"."+vSpherePassword)
		}
		v.reportCredential("", diagnostic.Invalid, message)
		return nil
	}
	files := map[string][]byte{}
	s := vSphereSecret{v, servers, slices.Sorted(maps.Keys(secret))}
	needed := map[string]bool{}
	for _, server := range servers {
		login := s.login(server)
		for _, key := range []string{login.server, login.username, login.password} {
			if needed[key] = true; key != "" && s.checkCredential(server, key) {
				files[key] = secret[key]
			}
		}
	}
	for _, key := range s.keys {
		if !needed[key] {
			v.reportCredential(key, diagnostic.Unknown, "no vCenter that is used has this key, so it is not delivered: "+
				"remove it once nothing else needs it, or add the vCenter")
		}
	}
	return files
}

// servers are the vCenters that are used; none where that is not known.
func (v *rewriter) servers() []string {
	var servers []string
	if vcenters := v.Value("vcenter"); vcenters != nil && !v.noVCenters {
		for _, e := range vcenters.Entries {
			if server := e.Value.Get("server"); server != nil {
				servers = append(servers, server.Text)
			}
		}
	}
	return servers
}

// login finds the keys of a vCenter.
func (s vSphereSecret) login(server string) vSphereLogin {
	for _, key := range s.keys {
		if suffix, found := strings.CutPrefix(key, vSphereServer+"_"); found && suffix != "" && string(s.src.Credentials[key]) == server {
			return vSphereLogin{server: key, username: vSphereUsername + "_" + suffix, password: vSpherePassword + "_" + suffix}
		}
	}
	return vSphereLogin{username: server + "." + vSphereUsername, password: server + "." + vSpherePassword}
}

// checkCredential tells whether the provider can use the value of a key.
func (s vSphereSecret) checkCredential(server, key string) bool {
	value, ok := s.src.Credentials[key]
	switch {
	case !ok:
		s.reportCredential(key, diagnostic.Invalid, fmt.Sprintf("the credentials Secret has no such key, which vCenter %s needs%s", confdoc.Quoted(server), s.otherKey(key)))
		return false
	case strings.TrimSpace(string(value)) == "":
		s.reportCredential(key, diagnostic.Invalid, fmt.Sprintf("it is empty, but vCenter %s needs it: write the value", confdoc.Quoted(server)))
		return false
	}
	return true
}

// otherKey is what the Secret has instead of a key of the first form.
func (s vSphereSecret) otherKey(key string) string {
	dot := strings.LastIndex(key, ".")
	if dot < 0 {
		return ": add it"
	}
	var spare []string
	for _, other := range s.keys {
		if strings.EqualFold(other, key) {
			return ": it has " + confdoc.Quoted(other) + ", but upper and lower case count; write the server in one way everywhere"
		}
		if server, found := strings.CutSuffix(other, key[dot:]); found && !slices.ContainsFunc(s.servers, func(used string) bool { return strings.EqualFold(used, server) }) {
			spare = append(spare, other)
		}
	}
	if meant := confdoc.Nearest(key, spare); meant != "" {
		return "; did you mean " + confdoc.Quoted(meant) + "?"
	}
	if len(spare) > 0 {
		return ", only " + few(spare) + ": add it"
	}
	return ": add it"
}

func (v *rewriter) reportCredential(key string, kind diagnostic.Kind, message string) {
	clouds.ReportCredentials(&v.findings, key, kind, message)
}
